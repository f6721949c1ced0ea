/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/lookup-rate.h"

#include <string.h>

bool pace_knows(const struct pace *p, const struct peer *name)
{
    return p->begun && names_knows(&p->known, name);
}

static void count_back(struct pace *p, uint64_t now_ms)
{
    uint64_t passed = (now_ms - p->settled_ms) / PACE_MS;
    p->used -= passed < p->used ? (uint32_t)passed : p->used;
    p->settled_ms += passed * PACE_MS;
}

bool pace_take(struct pace *p, const struct peer *name, uint64_t now_ms)
{
    if (!p->begun) {
        if (names_init(&p->known) < 0)
            return false;
        p->begun = true;
        p->settled_ms = now_ms;
    }
    count_back(p, now_ms);
    if (p->used >= PACE_AT_ONCE)
        return false;
    if (names_number(&p->known, name) < 0) {
        /* full, after most of a day: those that come again are paid for again */
        pace_free(p);
        return false;
    }
    p->used++;
    return true;
}

void pace_free(struct pace *p)
{
    if (p->begun)
        names_free(&p->known);
    p->begun = false;
}
