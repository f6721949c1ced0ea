/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A token bucket: PACE_AT_ONCE tokens, one more every PACE_MS. Each new name takes a token and is
 * remembered.
 */

#include "net/lookup-rate.h"

#include <string.h>

bool lookup_rate_knows(const struct lookup_rate *p, const struct peer *name)
{
    return p->begun && name_address_knows(&p->known, name);
}

static void count_back(struct lookup_rate *p, uint64_t now_ms)
{
    uint64_t passed = (now_ms - p->settled_ms) / PACE_MS;
    p->used -= passed < p->used ? (uint32_t)passed : p->used;
    p->settled_ms += passed * PACE_MS;
}

bool lookup_rate_take(struct lookup_rate *p, const struct peer *name, uint64_t now_ms)
{
    if (!p->begun) {
        if (name_address_init(&p->known) < 0)
            return false;
        p->begun = true;
        p->settled_ms = now_ms;
    }
    count_back(p, now_ms);
    if (p->used >= PACE_AT_ONCE)
        return false;
    if (name_address_number(&p->known, name) < 0) {
        /* The table is full after most of a day. Start again; repeated names then cost a token
         * again. */
        lookup_rate_free(p);
        return false;
    }
    p->used++;
    return true;
}

void lookup_rate_free(struct lookup_rate *p)
{
    if (p->begun)
        name_address_free(&p->known);
    p->begun = false;
}
