/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_OWN_ADDRESS_H
#define BK_NET_OWN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether an address is this machine's own. The kernel is asked each time: a machine can have any
 * number of addresses, and they come and go while a command runs.
 */
struct own_address {
    int fd; /* where the kernel is asked; -1: not yet */
    uint32_t sequence;
};

#define OWN_ADDRESS_NONE ((struct own_address){.fd = -1})

/* True also when it cannot be told. */
bool own_address_has(struct own_address *o, const uint8_t addr[16]);
void own_address_free(struct own_address *o);

#endif
