/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOKUP_RATE_H
#define BK_NET_LOOKUP_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/name-address.h"

/*
 * Limits how fast a command may look up new names. If a wildcard allows a name, the command chooses
 * its labels, and name servers see them: that leaks data. So new names are limited to a burst, as
 * programs need at start, and then one per second. Names that were looked up before are free.
 */
enum { PACE_AT_ONCE = 256, PACE_MS = 1000 };

struct lookup_rate {
    struct name_addresses known;
    bool begun;
    uint32_t used;       /* tokens taken */
    uint64_t settled_ms; /* when tokens were last returned */
};

bool lookup_rate_knows(const struct lookup_rate *p, const struct peer *name);
/* Takes a token for a new name; false if there is none. The name is known from then on. */
bool lookup_rate_take(struct lookup_rate *p, const struct peer *name, uint64_t now_ms);
void lookup_rate_free(struct lookup_rate *p);

#endif
