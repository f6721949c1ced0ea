/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Compares with all addresses that the machine has at the moment. */

#include "net/own-address.h"

#include <ifaddrs.h>
#include <string.h>
#include <sys/socket.h>

#include "graph/peer.h"

bool own_address_has(struct own_address *o, const uint8_t addr[16])
{
    struct ifaddrs *list = NULL;
    uint8_t one[16];
    uint16_t port;
    bool found = false;
    (void)o;
    if (getifaddrs(&list) < 0)
        return true;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
        found = i->ifa_addr &&
                addr_from_sockaddr((const struct sockaddr_storage *)i->ifa_addr, one, &port) &&
                memcmp(one, addr, 16) == 0;
    freeifaddrs(list);
    return found;
}

void own_address_free(struct own_address *o)
{
    o->fd = -1; /* nothing is open between two questions */
}
