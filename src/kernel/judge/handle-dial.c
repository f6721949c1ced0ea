/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network without a network namespace. The command gets TCP sockets as its only Internet
 * sockets, and none of its calls connects or binds one. Whatever address it asks for, the judge
 * connects the socket to the gate on loopback and announces the address to the gate. So names,
 * proxies, TLS hellos and addresses are judged in one place, as they are with a namespace.
 *
 * Also the network in a namespace that nothing leads out of: the judge asks the policy about every
 * address, so that attempts are reported.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "graph/peer.h"
#include "kernel/gate/gate-main.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/target.h"

static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};

/* ---- connecting ---- */

static bool option_is(int sock, int level, int option, int value)
{
    int got = 0;
    socklen_t n = sizeof(got);
    return getsockopt(sock, level, option, &got, &n) == 0 && got == value;
}

static bool is_tcp(int sock)
{
    return option_is(sock, SOL_SOCKET, SO_TYPE, SOCK_STREAM) &&
           option_is(sock, SOL_SOCKET, SO_PROTOCOL, IPPROTO_TCP);
}

/* Not connected and not connecting. */
static bool is_idle(int sock)
{
    struct tcp_info info;
    socklen_t n = sizeof(info);
    return getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && info.tcpi_state == TCP_CLOSE;
}

static bool is_loopback(const uint8_t addr[16])
{
    return memcmp(addr, loopback, 13) == 0 || IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)addr);
}

static bool is_unspecified(const uint8_t addr[16])
{
    static const uint8_t any[4] = {0};
    return addr_is_v4(addr) ? memcmp(addr + 12, any, 4) == 0
                            : IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)addr);
}

/* An IPv6 socket also reaches IPv4, unless IPV6_V6ONLY is set. */
static void set_gate_address(int family, uint16_t port, union address *to, socklen_t *len)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    memset(to, 0, sizeof(*to));
    if (family == AF_INET6) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        memcpy(&v6->sin6_addr, loopback, 16);
        *len = sizeof(*v6);
        return;
    }
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *len = sizeof(*v4);
}

static socklen_t least_size(int family)
{
    enum { BEFORE_SCOPE = 24 }; /* of an older sockaddr_in6, which the kernel still accepts */
    return family == AF_INET ? sizeof(struct sockaddr_in) : BEFORE_SCOPE;
}

int dial_redirect(struct judge *j, const struct request *r, int sock, union address *to,
                  socklen_t *len, struct dialled *d)
{
    const struct netns_ports *ports = &j->net.gate->ports;
    int family = 0;
    socklen_t n = sizeof(family);
    if (!is_tcp(sock) || getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &family, &n) < 0) {
        report_refused(j, r, OP_NETWORK_OUTBOUND, "a socket that is not for TCP");
        return -EPERM;
    }
    if (*len < sizeof(to->any.sa_family))
        return -EINVAL;
    if (to->any.sa_family == AF_UNSPEC)
        return 0; /* disconnects */
    if (to->any.sa_family != family)
        return -EAFNOSUPPORT;
    if (*len < least_size(family) || !addr_from_sockaddr(&to->storage, d->addr, &d->port))
        return -EINVAL;
    if (is_unspecified(d->addr))
        memcpy(d->addr, loopback, 16); /* as the kernel does */
    bool proxy = is_loopback(d->addr) && (d->port == ports->http || d->port == ports->socks);
    d->announced = !proxy && is_idle(sock);
    set_gate_address(family, proxy ? d->port : ports->tcp, to, len);
    return 0;
}

void dial_announce(const struct judge *j, int sock, const struct dialled *d)
{
    union address own;
    socklen_t n = sizeof(own);
    uint8_t addr[16];
    uint16_t port;
    if (d->announced && getsockname(sock, &own.any, &n) == 0 &&
        addr_from_sockaddr(&own.storage, addr, &port))
        gate_process_announce(j->net.gate, port, d->addr, d->port, d->peer);
}

/* ---- asking ---- */

enum { SHOWN = PEER_TEXT + 100 };

/* Formats an address for reports; why: a remark about it, or NULL. */
static void format_address(const uint8_t addr[16], uint16_t port, const char *why,
                           char shown[SHOWN])
{
    struct peer end;
    char text[PEER_TEXT];
    peer_from_address(addr, &end);
    peer_text(&end, port, text);
    snprintf(shown, SHOWN, why ? "%s (%s)" : "%s", text, why);
}

/* f: which end of the connection, and its protocols */
static int ask_address(struct judge *j, const struct request *r, enum vocab_op op,
                       struct graph_fact f, const uint8_t addr[16], uint16_t port, const char *why)
{
    char text[SHOWN], shown[SHOWN];
    f.net.host = NET_HOST_ADDRESS;
    f.net.prefix = 128;
    f.net.port_lo = f.net.port_hi = port;
    memcpy(f.net.addr, addr, 16);
    f.net.proto &= (uint16_t) ~(addr_is_v4(addr) ? NET_IP6 : NET_IP4);
    format_address(addr, port, NULL, text);
    format_address(addr, port, why, shown);
    f.str = text;
    f.len = (uint32_t)strlen(text);
    return ask_about(j, r, op, &f, 1, shown);
}

static int ask_local(struct judge *j, const struct request *r, enum vocab_op op,
                     const uint8_t addr[16], uint16_t port)
{
    struct graph_fact f = {.filter = FILTER_LOCAL, .net = {.proto = NET_TCP}};
    return ask_address(j, r, op, f, addr, port, NULL);
}

/* ---- isolated networks ---- */

/* A machine's name server may be on loopback, but not at an address where other servers listen. */
static bool is_name_server(const uint8_t addr[16], uint16_t port)
{
    enum { DOMAIN_PORT = 53 };
    return port == DOMAIN_PORT && memcmp(addr, loopback, 16) != 0 &&
           !IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)addr);
}

int dial_ask_isolated(struct judge *j, const struct request *r, uint16_t proto,
                      const union address *to, socklen_t len)
{
    char lookup[64] = "";
    struct graph_fact f = {.filter = FILTER_REMOTE, .net = {.proto = proto}};
    uint8_t addr[16];
    uint16_t port;
    int family = to->any.sa_family;
    if ((family != AF_INET && family != AF_INET6) || len < least_size(family) ||
        !addr_from_sockaddr(&to->storage, addr, &port) || is_unspecified(addr))
        return 0; /* the kernel gives the right error */
    bool names = is_name_server(addr, port);
    if (names)
        snprintf(lookup, sizeof(lookup), "a name was looked up; %s",
                 remedy_words(REMEDY_WATCH_NET));
    if (!is_loopback(addr))
        return ask_address(j, r, OP_NETWORK_OUTBOUND, f, addr, port, names ? lookup : NULL);
    if (names) {
        char shown[SHOWN];
        format_address(addr, port, lookup, shown);
        report_refused(j, r, OP_NETWORK_OUTBOUND, shown);
    }
    return 0; /* only the command's own servers can be there */
}

void dial_report_local(struct judge *j, const struct request *r, const uint8_t addr[16],
                       uint16_t port)
{
    struct graph_fact f = {.filter = FILTER_REMOTE, .net = {.proto = NET_TCP}};
    (void)ask_address(j, r, OP_NETWORK_OUTBOUND, f, addr, port, NULL);
}

/* ---- serving ---- */

/* Port 0, chosen by the kernel, needs no permission until the socket listens. */
int dial_ask_bind(struct judge *j, const struct request *r, const union address *at)
{
    uint8_t addr[16];
    uint16_t port;
    if (!addr_from_sockaddr(&at->storage, addr, &port))
        return at->any.sa_family == AF_UNSPEC ? -EAFNOSUPPORT : 0;
    return port == 0 ? 0 : ask_local(j, r, OP_NETWORK_BIND, addr, port);
}

/* The kernel may have chosen the port just now. Servers at other loopback addresses stay inside. */
static void announce_server(const struct judge *j, int sock)
{
    union address own;
    socklen_t n = sizeof(own);
    uint8_t addr[16];
    uint16_t port;
    if (is_tcp(sock) && getsockname(sock, &own.any, &n) == 0 &&
        addr_from_sockaddr(&own.storage, addr, &port))
        gate_process_announce_server(j->net.gate, port);
}

struct answer handle_listen(struct judge *j, const struct request *r)
{
    union address own;
    socklen_t n = sizeof(own);
    uint8_t addr[16];
    uint16_t port;
    OWN(fd) int sock = target_take_fd(j, r, (int)r->args[0]);
    if (sock < 0 || !request_is_valid(j, r))
        return answer_value(sock < 0 ? sock : -EPERM);
    if (getsockname(sock, &own.any, &n) < 0)
        return answer_errno(errno);
    bool internet = addr_from_sockaddr(&own.storage, addr, &port);
    int err = internet && j->net.dials ? ask_local(j, r, OP_NETWORK_INBOUND, addr, port) : 0;
    if (err == 0 && listen(sock, (int)r->args[1]) < 0)
        err = -errno;
    if (err == 0)
        kept_socket_release(&j->net.kept, sock);
    if (err == 0 && internet && j->net.notes_servers)
        announce_server(j, sock);
    return answer_value(err);
}
