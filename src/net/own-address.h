/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_OWN_ADDRESS_H
#define BK_NET_OWN_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether an address belongs to this machine. Asks the kernel each time, because addresses come and
 * go while a command runs.
 */
struct own_address {
    int fd; /* netlink socket; -1: not open yet */
    uint32_t sequence;
};

#define OWN_ADDRESS_NONE ((struct own_address){.fd = -1})

/* Also true if the answer can't be determined. */
bool own_address_has(struct own_address *o, const uint8_t addr[16]);
void own_address_free(struct own_address *o);

#endif
