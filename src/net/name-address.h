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
 * Gives each name that the stub resolves a private address, so that the destination of a connection
 * tells its name. Addresses come from 198.18.0.0/15 and a unique local prefix, which lead nowhere
 * else. Names stay valid during a run; when the table is full, new names get no address.
 */

enum { NAMES_MAX = 65536, NAMES_BYTES = 24 << 20 };

struct name_addresses {
    struct arena arena;
    struct peer **by_number; /* name n has the address base + n */
    uint32_t *slots;         /* number + 1, by hash; the size is a power of two */
    uint32_t n, nslots;
};

int name_address_init(struct name_addresses *t); /* -1 without memory */
void name_address_free(struct name_addresses *t);

/* Returns the number of a name, a new one if needed, or -1 if the table is full. */
int64_t name_address_number(struct name_addresses *t, const struct peer *name);
bool name_address_knows(const struct name_addresses *t,
                        const struct peer *name); /* whether the name has a number */
void name_address_get(uint32_t number, bool v6, uint8_t addr[16]);
/* The name of an address, or NULL. */
const struct peer *name_address_find(const struct name_addresses *t, const uint8_t addr[16]);
/* Whether the address is in the range for names, in use or not. */
bool name_address_covers(const uint8_t addr[16]);

#endif
