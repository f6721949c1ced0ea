/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two things make it work. A route of type "local" for all addresses delivers every packet here
 * instead of sending it. A tproxy rule then hands the first packet of each connection, whatever its
 * port, to our listener unchanged. The accepted socket has the intended destination as its local
 * address, and later packets find the socket by themselves. Datagrams are handed over one by one.
 * Loopback and the sandbox's own addresses (just below those for names) are exempt, so the command
 * reaches its own servers. The kernel keeps no connection state for this.
 *
 * A kernel without tproxy redirects instead, and SO_ORIGINAL_DST gives the destination. For
 * datagrams that would be one destination per socket, while a socket may send to many. So only DNS
 * is redirected then, because its answers don't depend on the server. A kernel that refuses all
 * rules gets listeners at single ports (netns-setup-ports.c).
 */

#include "net/netns-setup.h"

#include <errno.h>
#include <netinet/in.h> /* must precede the kernel's headers, which then skip their own definitions */

#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/on-linux/netlink.h"
#include "net/on-linux/netns-setup-int.h"

/* ---- addresses and routes ---- */

static void add_address(struct netlink *b, uint8_t family, const uint8_t *addr, uint8_t n,
                        uint32_t lo)
{
    struct ifaddrmsg m = {.ifa_family = family,
                          .ifa_prefixlen = (uint8_t)(n * 8),
                          .ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0,
                          .ifa_index = lo};
    netlink_begin(b, RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK, &m, sizeof(m));
    netlink_attr(b, IFA_LOCAL, addr, n);
    netlink_attr(b, IFA_ADDRESS, addr, n);
    netlink_end(b);
}

/* ip route add local default dev lo src OWN */
static void add_route(struct netlink *b, uint8_t family, const uint8_t *own, uint8_t n, uint32_t lo)
{
    struct rtmsg m = {.rtm_family = family,
                      .rtm_table = RT_TABLE_LOCAL,
                      .rtm_protocol = RTPROT_STATIC,
                      .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                      .rtm_type = RTN_LOCAL};
    netlink_begin(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &m, sizeof(m));
    netlink_attr(b, RTA_OIF, &lo, sizeof(lo));
    netlink_attr(b, RTA_PREFSRC, own, n);
    netlink_end(b);
}

static int setup_routes(bool v6)
{
    struct netlink b = {0};
    uint32_t lo = if_nametoindex("lo");
    OWN(fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0 || !lo)
        return -errno;
    add_address(&b, AF_INET, netns_own_v4, sizeof(netns_own_v4), lo);
    add_route(&b, AF_INET, netns_own_v4, sizeof(netns_own_v4), lo);
    if (v6) {
        add_address(&b, AF_INET6, netns_own_v6, sizeof(netns_own_v6), lo);
        add_route(&b, AF_INET6, netns_own_v6, sizeof(netns_own_v6), lo);
    }
    return netlink_send(fd, &b);
}

/* ---- listeners ---- */

static const struct {
    int family, type;
    uint16_t port;
} sockets[NETNS_UDP4] = {
    [NETNS_TCP4] = {AF_INET, SOCK_STREAM, PORT_TCP},
    [NETNS_TCP6] = {AF_INET6, SOCK_STREAM, PORT_TCP},
    [NETNS_DNS4] = {AF_INET, SOCK_DGRAM, PORT_DNS},
    [NETNS_DNS6] = {AF_INET6, SOCK_DGRAM, PORT_DNS},
    [NETNS_DNS_TCP4] = {AF_INET, SOCK_STREAM, PORT_DNS_TCP},
    [NETNS_DNS_TCP6] = {AF_INET6, SOCK_STREAM, PORT_DNS_TCP},
    [NETNS_HTTP] = {AF_INET, SOCK_STREAM, NETNS_HTTP_PORT},
    [NETNS_SOCKS] = {AF_INET, SOCK_STREAM, NETNS_SOCKS_PORT},
};

int netns_report_destination(int fd, int family)
{
    int one = 1;
    return family == AF_INET
               ? setsockopt(fd, IPPROTO_IP, IP_RECVORIGDSTADDR, &one, sizeof(one))
               : setsockopt(fd, IPPROTO_IPV6, IPV6_RECVORIGDSTADDR, &one, sizeof(one));
}

/* Opens a socket for packets that are handed over: connections, or datagrams with their
 * destination. IPv6 needs the wildcard address, because the rule looks the socket up by an address
 * of the interface. */
static int open_receiver(int family, int type, uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr *at = family == AF_INET ? (void *)&v4 : (void *)&v6;
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, one = 1;
    int through = family == AF_INET ? IP_TRANSPARENT : IPV6_TRANSPARENT;
    bool stream = type == SOCK_STREAM;
    OWN(fd) int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, level, through, &one, sizeof(one)) < 0 ||
        (stream ? netns_stream_options(fd) : netns_report_destination(fd, family)) < 0 ||
        (family == AF_INET6 && setsockopt(fd, level, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
        bind(fd, at, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0 ||
        (stream && listen(fd, NETNS_BACKLOG) < 0))
        return -errno;
    return steal_fd(&fd);
}

/* Sends from any address and receives nothing: without the filter, a raw socket gets a copy of
 * every packet. */
int netns_open_raw(int family, int protocol)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog deaf = {1, &nothing};
    int one = 1, checksum_at = 6;
    OWN(fd) int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &deaf, sizeof(deaf)) < 0 ||
        (family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof(one)) < 0) ||
        (protocol == IPPROTO_UDP && family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_CHECKSUM, &checksum_at, sizeof(checksum_at)) < 0))
        return -errno;
    return steal_fd(&fd);
}

static int open_relay(struct netns_sockets *out, bool v6)
{
    for (int six = 0; six <= (v6 ? 1 : 0); six++) {
        int family = six ? AF_INET6 : AF_INET;
        int fds[] = {open_receiver(family, SOCK_DGRAM, PORT_UDP),
                     netns_open_raw(family, IPPROTO_UDP),
                     netns_open_raw(family, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP)};
        out->fds[NETNS_UDP4 + six] = fds[0];
        out->fds[NETNS_BACK4 + six] = fds[1];
        out->fds[NETNS_ICMP4 + six] = fds[2];
        for (size_t i = 0; i < 3; i++)
            if (fds[i] < 0)
                return fds[i];
    }
    return 0;
}

/* Opens the listeners of the table from first on. */
static int open_listeners(struct netns_sockets *out, bool v6, const struct netns_wishes *w,
                          enum netns_socket first)
{
    for (size_t i = first; i < NETNS_UDP4; i++) {
        uint16_t port = sockets[i].port;
        if (sockets[i].family == AF_INET6 && !v6)
            continue;
        if (i == NETNS_HTTP || i == NETNS_SOCKS)
            port = netns_proxy_port(port, w->local, w->nlocal);
        out->fds[i] = out->handed_over && i < NETNS_HTTP
                          ? open_receiver(sockets[i].family, sockets[i].type, port)
                          : netns_listen(sockets[i].family, sockets[i].type, port);
        if (out->fds[i] < 0)
            return out->fds[i];
    }
    return 0;
}

/* ---- setup ---- */

static bool has_v6(void)
{
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int open_local(struct netns_port *out, const struct local_port *want, bool v6)
{
    out->port = want->port;
    for (int i = 0; i < NETNS_LOCAL_KINDS; i++) {
        bool udp = i >= NETNS_LOCAL_UDP4, six = i & 1;
        if ((six && !v6) || !(udp ? want->udp : want->tcp))
            continue;
        out->fds[i] =
            netns_listen(six ? AF_INET6 : AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, want->port);
        if (out->fds[i] < 0)
            return out->fds[i];
    }
    return 0;
}

static int open_inside(int out[NETNS_INSIDE], int family)
{
    for (size_t i = 0; i < NETNS_INSIDE; i++) {
        out[i] = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (out[i] < 0)
            return -errno;
    }
    return 0;
}

static int open_loop(struct netns_sockets *out, bool v6)
{
    out->fds[NETNS_LOOP4] = netns_listen(AF_INET, SOCK_STREAM, NETNS_LOOP_PORT);
    if (v6 && out->fds[NETNS_LOOP4] >= 0)
        out->fds[NETNS_LOOP6] = netns_listen(AF_INET6, SOCK_STREAM, NETNS_LOOP_PORT);
    return out->fds[NETNS_LOOP4] < 0         ? out->fds[NETNS_LOOP4]
           : v6 && out->fds[NETNS_LOOP6] < 0 ? out->fds[NETNS_LOOP6]
                                             : 0;
}

int netns_network(const struct netns_wishes *wishes, struct netns_sockets *out)
{
    bool v6 = has_v6();
    netns_none(out);
    int err = setup_routes(v6);
    bool rules = err == 0 && !wishes->no_rules;
    /* any failure is fine: without rules, packets still can't leave */
    out->handed_over = rules && !wishes->no_hand_over && netns_rules(true) == 0;
    rules = out->handed_over || (rules && netns_rules(false) == 0);
    if (err == 0)
        err = open_listeners(out, v6, wishes, rules ? NETNS_TCP4 : NETNS_HTTP);
    if (err == 0 && out->handed_over)
        err = open_relay(out, v6);
    for (size_t i = 0; err == 0 && i < wishes->nlocal && i < NETNS_LOCAL; i++)
        err = open_local(&out->local[i], &wishes->local[i], v6);
    if (err == 0 && wishes->loop)
        err = open_loop(out, v6);
    if (err == 0 && wishes->inside)
        err = open_inside(out->inside[0], AF_INET);
    if (err == 0 && wishes->inside && v6)
        err = open_inside(out->inside[1], AF_INET6);
    if (err == 0 && !rules)
        err = netns_ports(wishes, v6, out);
    if (err < 0)
        netns_close(out);
    return err;
}
