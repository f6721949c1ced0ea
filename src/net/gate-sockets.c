/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The gate's sockets, as far as they are the same on every system. */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/netns-setup.h"
#include "system/descriptors.h"

/* SO_REUSEADDR: connections of an earlier run may still be closing. Accepted sockets inherit
 * TCP_NODELAY. */
int netns_stream_options(int fd)
{
    int one = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0
               ? -1
               : setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int netns_listen(int family, int type, uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *at = family == AF_INET ? (void *)&v4 : (void *)&v6;
    int one = 1;
    OWN(fd) int fd = fd_socket(family, type, FD_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
        return -errno;
    if (type == SOCK_STREAM && netns_stream_options(fd) < 0)
        return -errno;
    if (bind(fd, at, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0 ||
        (type == SOCK_STREAM && listen(fd, NETNS_BACKLOG) < 0))
        return -errno;
    return steal_fd(&fd);
}

int netns_bind_everywhere(int fd, bool v6, uint16_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr *at = v6 ? (void *)&six : (void *)&four;
    return bind(fd, at, v6 ? sizeof(six) : sizeof(four)) < 0 ? -errno : 0;
}

bool netns_is_inside(const uint8_t addr[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, loopback6[16] = {[15] = 1};
    if (memcmp(addr, mapped, sizeof(mapped)) != 0)
        return memcmp(addr, loopback6, 16) == 0 || memcmp(addr, netns_own_v6, 16) == 0;
    return addr[12] == 127 || memcmp(addr + 12, netns_own_v4, 3) == 0;
}

uint16_t netns_proxy_port(uint16_t usual, const struct local_port *local, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (local[i].tcp && local[i].port == usual)
            return netns_proxy_port((uint16_t)(usual + 1), local, n);
    return usual;
}

size_t netns_places(struct netns_sockets *net, int *places[NETNS_PLACES])
{
    size_t n = 0;
    for (size_t i = 0; i < NETNS_SOCKETS; i++)
        places[n++] = &net->fds[i];
    for (size_t i = 0; i < NETNS_LOCAL; i++)
        for (size_t k = 0; k < NETNS_LOCAL_KINDS; k++)
            places[n++] = &net->local[i].fds[k];
    for (size_t i = 0; i < NETNS_FAMILIES * NETNS_INSIDE; i++)
        places[n++] = &net->inside[i / NETNS_INSIDE][i % NETNS_INSIDE];
    for (size_t i = 0; i < NETNS_PORTS; i++)
        places[n++] = &net->ports[i];
    return n;
}

void netns_close(struct netns_sockets *net)
{
    int *places[NETNS_PLACES];
    size_t n = netns_places(net, places);
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            close(steal_fd(places[i]));
}
