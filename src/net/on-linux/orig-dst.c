/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Finds the destination of a connection that the command made without a proxy. */

#include "net/orig-dst.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "net/gate-int.h"

enum { ORIGINAL_DESTINATION = 80 }; /* SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST */

bool orig_dst_redirected(struct conn *c, bool v6)
{
    struct sockaddr_storage to;
    socklen_t n = sizeof(to);
    uint8_t addr[16];
    if (getsockopt(c->client.watch.fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, ORIGINAL_DESTINATION, &to,
                   &n) < 0 ||
        !addr_from_sockaddr(&to, addr, &c->port))
        return false;
    return gate_host_of(c->gate, addr, &c->host);
}

bool orig_dst_as_sent(struct conn *c)
{
    struct sockaddr_storage to;
    socklen_t n = sizeof(to);
    uint8_t addr[16];
    /* a loopback address would now mean the host's; a rule about the sandbox's must not
     * lead there */
    if (getsockname(c->client.watch.fd, (struct sockaddr *)&to, &n) < 0 ||
        !addr_from_sockaddr(&to, addr, &c->port) || netns_is_inside(addr))
        return false;
    return gate_host_of(c->gate, addr, &c->host);
}
