/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network of a kernel that cannot redirect. Every address is local all the same, so that a
 * listener at every address hears connections to anywhere at its port, and an accepted socket's own
 * end is where the connection wanted to go. It is weaker: only ports that somebody listens on lead
 * to the gate, and those are taken on loopback too, where the kernel knows no "everywhere but
 * here". What goes to another port meets nobody and is refused by the kernel; nothing leads out.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/lay-int.h"

/* One socket for both families: descriptors are handed over all at once, and there is a limit. */
static int listen_everywhere(bool v6, uint16_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 both = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr *at = v6 ? (void *)&both : (void *)&four;
    int zero = 0;
    OWN(fd)
    int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || lay_stream_options(fd) < 0 ||
        (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0) ||
        bind(fd, at, v6 ? sizeof(both) : sizeof(four)) < 0 || listen(fd, LAY_BACKLOG) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* At the one address that the sandbox's resolver asks: an answer from a socket at every address
 * would come from another than was asked. */
static int hear_resolver(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT_NAMES)};
    OWN(fd) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || inet_pton(AF_INET, LAY_RESOLVER, &at.sin_addr) != 1 ||
        bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
        return -errno;
    return steal_fd(&fd);
}

int lay_ports(const struct lay_wishes *wishes, bool v6, struct laid_network *out)
{
    out->fds[LAY_DNS4] = hear_resolver();
    if (out->fds[LAY_DNS4] < 0)
        return out->fds[LAY_DNS4];
    out->fds[LAY_DNS_TCP4] = listen_everywhere(v6, PORT_NAMES);
    if (out->fds[LAY_DNS_TCP4] < 0)
        return out->fds[LAY_DNS_TCP4];
    for (size_t i = 0; i < wishes->nports && i < LAY_PORTS; i++) {
        int fd = listen_everywhere(v6, wishes->ports[i]);
        if (fd < 0 && fd != -EADDRINUSE) /* the stub, a proxy or a port of the host's is there */
            return fd;
        out->ports[i] = fd < 0 ? -1 : fd;
    }
    return 0;
}

bool lay_is_inside(const uint8_t addr[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, loopback6[16] = {[15] = 1};
    if (memcmp(addr, mapped, sizeof(mapped)) != 0)
        return memcmp(addr, loopback6, 16) == 0 || memcmp(addr, lay_own_v6, 16) == 0;
    return addr[12] == 127 || memcmp(addr + 12, lay_own_v4, 3) == 0;
}
