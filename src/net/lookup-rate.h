/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOKUP_RATE_H
#define BK_NET_LOOKUP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/name-address.h"

/*
 * How fast a command may have new names looked up. A name that a wildcard allows is told to name
 * servers with whatever the command wrote into its labels, so that there is a price on each: many
 * at first, as programs have when they start, and then one each second. A name that was looked up
 * before is free.
 */
enum { PACE_AT_ONCE = 256, PACE_MS = 1000 };

struct lookup_rate {
    struct name_addresses known;
    bool begun;
    uint32_t used;       /* of those that are had at once */
    uint64_t settled_ms; /* until when it was counted back */
};

bool lookup_rate_knows(const struct lookup_rate *p, const struct peer *name);
/* Whether one more may be looked up now; it is known then. */
bool lookup_rate_take(struct lookup_rate *p, const struct peer *name, uint64_t now_ms);
void lookup_rate_free(struct lookup_rate *p);

#endif
