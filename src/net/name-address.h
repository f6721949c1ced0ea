/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_NAME_ADDRESS_H
#define BK_NET_NAME_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "graph/peer.h"

/*
 * One address for each name that the stub was asked about, so that the destination of a connection
 * is its name: 198.18.0.0/15 and a unique local prefix, neither of which leads anywhere else. Names
 * are never forgotten during a run; when there are too many, no more are given out.
 */

enum { NAMES_MAX = 65536, NAMES_BYTES = 24 << 20 };

struct name_addresses {
    struct arena arena;
    struct peer **by_number; /* number n is the address base + n */
    uint32_t *slots;         /* number + 1, by hash; a power of two */
    uint32_t n, nslots;
};

int name_address_init(struct name_addresses *t); /* -1 without memory */
void name_address_free(struct name_addresses *t);

/* The number of a name, new if need be; -1 when there are too many. */
int64_t name_address_number(struct name_addresses *t, const struct peer *name);
bool name_address_knows(const struct name_addresses *t,
                        const struct peer *name); /* whether it has one */
void name_address_address(uint32_t number, bool v6, uint8_t addr[16]);
/* The name behind an address, or NULL. */
const struct peer *name_address_find(const struct name_addresses *t, const uint8_t addr[16]);
/* Whether the address is one that names are given, taken or not. */
bool name_address_covers(const uint8_t addr[16]);

#endif
