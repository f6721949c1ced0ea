/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network for a kernel without packet rules. Every address is still local, so a listener on all
 * addresses gets connections to any host at its port, and the accepted socket's local address is
 * the intended destination.
 *
 * This is weaker. Only ports with a listener lead to the gate, and the listener occupies the port
 * on loopback too. The kernel refuses connections to other ports and all datagrams except DNS; raw
 * sockets observe them, so that they can be reported. Nothing leads outside.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/on-linux/netns-setup-int.h"

enum { SPARE = 8 }; /* sockets for ports that a later policy names */

/* One socket for both families, because the number of descriptors per message is limited. */
static int open_stream(bool v6)
{
    int zero = 0;
    OWN(fd)
    int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || netns_stream_options(fd) < 0 ||
        (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0))
        return -errno;
    return steal_fd(&fd);
}

static int listen_everywhere(bool v6, uint16_t port)
{
    OWN(fd) int fd = open_stream(v6);
    int err = fd < 0 ? fd : netns_bind_everywhere(fd, v6, port);
    if (err == 0 && listen(fd, NETNS_BACKLOG) < 0)
        err = -errno;
    return err < 0 ? err : steal_fd(&fd);
}

/* Receives questions to any name server, with the server's address: the reply must come
 * from there. */
static int open_questions(int family)
{
    int one = 1;
    OWN(fd) int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || netns_report_destination(fd, family) < 0 ||
        (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0))
        return -errno;
    int err = netns_bind_everywhere(fd, family == AF_INET6, PORT_NAMES);
    return err < 0 ? err : steal_fd(&fd);
}

/* ---- observing refused packets ---- */

enum { HEADS = 128, SYN = 0x02, SYN_OR_ACK = 0x12, FLAGS_AT = 13, NET = SKF_NET_OFF };

#define LOAD(size, at) BPF_STMT(BPF_LD | (size) | BPF_ABS, (at))
#define GO_ON_IF(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0)
#define GIVE(bytes) BPF_STMT(BPF_RET | BPF_K, (bytes))
#define GIVE_UNLESS(value) GO_ON_IF(value), GIVE(HEADS)
#define DROP_UNLESS(value) GO_ON_IF(value), GIVE(0)

/* Filters that pass only headers, nothing sent to loopback, and for TCP only the first packet of a
 * connection. IPv4 sockets see the IP header, IPv6 sockets don't. */
static struct sock_filter udp4[] = {LOAD(BPF_B, NET + 16), GIVE_UNLESS(127), GIVE(0)};
static struct sock_filter udp6[] = {
    LOAD(BPF_W, NET + 24), GIVE_UNLESS(0),        LOAD(BPF_W, NET + 28),
    GIVE_UNLESS(0),        LOAD(BPF_W, NET + 32), GIVE_UNLESS(0),
    LOAD(BPF_W, NET + 36), GIVE_UNLESS(1),        GIVE(0)};
static struct sock_filter tcp4[] = {BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
                                    BPF_STMT(BPF_LD | BPF_B | BPF_IND, FLAGS_AT),
                                    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN_OR_ACK),
                                    DROP_UNLESS(SYN),
                                    LOAD(BPF_B, NET + 16),
                                    GIVE_UNLESS(127),
                                    GIVE(0)};
static struct sock_filter tcp6[] = {
    LOAD(BPF_B, FLAGS_AT), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN_OR_ACK),
    DROP_UNLESS(SYN),      LOAD(BPF_W, NET + 24),
    GIVE_UNLESS(0),        LOAD(BPF_W, NET + 28),
    GIVE_UNLESS(0),        LOAD(BPF_W, NET + 32),
    GIVE_UNLESS(0),        LOAD(BPF_W, NET + 36),
    GIVE_UNLESS(1),        GIVE(0)};

#define PROGRAM(list)                                                                              \
    {                                                                                              \
        sizeof(list) / sizeof((list)[0]), (list)                                                   \
    }

static const struct {
    enum netns_socket kind;
    int family, protocol;
    struct sock_fprog filter;
} refused[] = {
    {NETNS_REFUSED_UDP4, AF_INET, IPPROTO_UDP, PROGRAM(udp4)},
    {NETNS_REFUSED_UDP6, AF_INET6, IPPROTO_UDP, PROGRAM(udp6)},
    {NETNS_REFUSED_TCP4, AF_INET, IPPROTO_TCP, PROGRAM(tcp4)},
    {NETNS_REFUSED_TCP6, AF_INET6, IPPROTO_TCP, PROGRAM(tcp6)},
};

/* The reader discards packets that arrived before the filter was attached. */
static int observe_refused(size_t which)
{
    const struct sock_fprog *filter = &refused[which].filter;
    int family = refused[which].family;
    OWN(fd)
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, refused[which].protocol);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof(*filter)) < 0 ||
        netns_report_destination(fd, family) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* ---- setup ---- */

static int open_datagrams(bool v6, struct netns_sockets *out)
{
    for (int six = 0; six <= (v6 ? 1 : 0); six++) {
        int family = six ? AF_INET6 : AF_INET;
        out->fds[NETNS_DNS4 + six] = open_questions(family);
        if (out->fds[NETNS_DNS4 + six] < 0)
            return out->fds[NETNS_DNS4 + six];
        out->fds[NETNS_BACK4 + six] = netns_open_raw(family, IPPROTO_UDP);
        if (out->fds[NETNS_BACK4 + six] < 0)
            return out->fds[NETNS_BACK4 + six];
    }
    /* without these, refusals are not reported */
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (v6 || refused[i].family == AF_INET)
            out->fds[refused[i].kind] = observe_refused(i);
    return 0;
}

int netns_ports(const struct netns_wishes *wishes, bool v6, struct netns_sockets *out)
{
    size_t n = wishes->nports < NETNS_PORTS ? wishes->nports : NETNS_PORTS;
    int err = open_datagrams(v6, out);
    if (err < 0)
        return err;
    out->fds[NETNS_DNS_TCP4] = listen_everywhere(v6, PORT_NAMES);
    if (out->fds[NETNS_DNS_TCP4] < 0)
        return out->fds[NETNS_DNS_TCP4];
    for (size_t i = 0; i < n; i++) {
        int fd = listen_everywhere(v6, wishes->ports[i]);
        if (fd < 0 && fd != -EADDRINUSE) /* taken by the stub, a proxy or a port of the host */
            return fd;
        out->ports[i] = fd < 0 ? -1 : fd;
    }
    for (size_t i = n; i < NETNS_PORTS && i < n + SPARE; i++)
        out->ports[i] = open_stream(v6);
    return 0;
}
