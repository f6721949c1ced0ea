/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two things make it work. A route of type local for everything lets packets to any address be
 * delivered here instead of being sent. And a redirecting rule turns connections to any port into
 * connections to one of ours, while the kernel remembers for SO_ORIGINAL_DST where they wanted to
 * go. Loopback is left out of both, and so are the addresses just below those that stand for
 * names: the command's own servers are reached there.
 *
 * Datagrams are not redirected, since one socket may write to many places and the kernel remembers
 * only one of them: a tproxy rule hands them to our socket as they are, when they come in again by
 * the loopback interface. Only DNS is, whose answers do not depend on who was asked.
 */

#include "net/lay.h"

#include <errno.h>
#include <netinet/in.h> /* before the kernel's own, which step back then */

#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/netlink.h"

/* Ports that nobody else has reason to ask for; only redirected connections arrive there. */
enum { PORT_TCP = 64053, PORT_DNS = 64054, PORT_DNS_TCP = 64055, PORT_UDP = 64056 };

enum { BACKLOG = 4096 };

/* The sandbox's own addresses: lookups with AI_ADDRCONFIG want one of each kind besides loopback.
 */
static const uint8_t own_v4[4] = {198, 18, 0, 1};
static const uint8_t own_v6[16] = {0xfd, 0x62, 0x75, 0x63, 0x6b, 0x6c, [15] = 1};

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

static int lay_roads(bool v6)
{
    struct netlink b = {0};
    uint32_t lo = if_nametoindex("lo");
    OWN(fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0 || !lo)
        return -errno;
    add_address(&b, AF_INET, own_v4, sizeof(own_v4), lo);
    add_route(&b, AF_INET, own_v4, sizeof(own_v4), lo);
    if (v6) {
        add_address(&b, AF_INET6, own_v6, sizeof(own_v6), lo);
        add_route(&b, AF_INET6, own_v6, sizeof(own_v6), lo);
    }
    return netlink_send(fd, &b);
}

/* ---- packet rules ---- */

static const char table_name[] = "buckle";

static void begin_nft(struct netlink *b, uint16_t message, uint16_t flags)
{
    struct nfgenmsg head = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};
    netlink_begin(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message), flags | NLM_F_ACK, &head,
                  sizeof(head));
}

static void batch_mark(struct netlink *b, uint16_t type)
{
    struct nfgenmsg head = {.version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};
    netlink_begin(b, type, 0, &head, sizeof(head));
    netlink_end(b);
}

static void add_table(struct netlink *b)
{
    begin_nft(b, NFT_MSG_NEWTABLE, NLM_F_CREATE);
    netlink_str(b, NFTA_TABLE_NAME, table_name);
    netlink_end(b);
}

static void add_chain(struct netlink *b, const char *name, const char *type, uint32_t where,
                      int32_t priority)
{
    begin_nft(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    netlink_str(b, NFTA_CHAIN_TABLE, table_name);
    netlink_str(b, NFTA_CHAIN_NAME, name);
    size_t hook = netlink_open(b, NFTA_CHAIN_HOOK);
    netlink_be32(b, NFTA_HOOK_HOOKNUM, where);
    netlink_be32(b, NFTA_HOOK_PRIORITY, (uint32_t)priority);
    netlink_close(b, hook);
    netlink_str(b, NFTA_CHAIN_TYPE, type);
    netlink_end(b);
}

/* A rule is a list of expressions, each of which goes on only when it holds. */
struct rule {
    struct netlink *b;
    size_t list, element, data;
};

static struct rule rule_begin(struct netlink *b, const char *chain)
{
    begin_nft(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    netlink_str(b, NFTA_RULE_TABLE, table_name);
    netlink_str(b, NFTA_RULE_CHAIN, chain);
    return (struct rule){.b = b, .list = netlink_open(b, NFTA_RULE_EXPRESSIONS)};
}

static void rule_end(struct rule *r)
{
    netlink_close(r->b, r->list);
    netlink_end(r->b);
}

static void expression(struct rule *r, const char *name)
{
    r->element = netlink_open(r->b, NFTA_LIST_ELEM);
    netlink_str(r->b, NFTA_EXPR_NAME, name);
    r->data = netlink_open(r->b, NFTA_EXPR_DATA);
}

static void expression_end(struct rule *r)
{
    netlink_close(r->b, r->data);
    netlink_close(r->b, r->element);
}

static void load_meta(struct rule *r, uint32_t key)
{
    expression(r, "meta");
    netlink_be32(r->b, NFTA_META_KEY, key);
    netlink_be32(r->b, NFTA_META_DREG, NFT_REG_1);
    expression_end(r);
}

static void load_payload(struct rule *r, uint32_t base, uint32_t offset, uint32_t len)
{
    expression(r, "payload");
    netlink_be32(r->b, NFTA_PAYLOAD_DREG, NFT_REG_1);
    netlink_be32(r->b, NFTA_PAYLOAD_BASE, base);
    netlink_be32(r->b, NFTA_PAYLOAD_OFFSET, offset);
    netlink_be32(r->b, NFTA_PAYLOAD_LEN, len);
    expression_end(r);
}

static void compare(struct rule *r, uint32_t how, const void *value, size_t n)
{
    expression(r, "cmp");
    netlink_be32(r->b, NFTA_CMP_SREG, NFT_REG_1);
    netlink_be32(r->b, NFTA_CMP_OP, how);
    size_t data = netlink_open(r->b, NFTA_CMP_DATA);
    netlink_attr(r->b, NFTA_DATA_VALUE, value, n);
    netlink_close(r->b, data);
    expression_end(r);
}

static void verdict(struct rule *r, uint32_t code)
{
    expression(r, "immediate");
    netlink_be32(r->b, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t data = netlink_open(r->b, NFTA_IMMEDIATE_DATA);
    size_t inner = netlink_open(r->b, NFTA_DATA_VERDICT);
    netlink_be32(r->b, NFTA_VERDICT_CODE, code);
    netlink_close(r->b, inner);
    netlink_close(r->b, data);
    expression_end(r);
}

static void load_port(struct rule *r, uint16_t port)
{
    uint16_t to = htons(port);
    expression(r, "immediate");
    netlink_be32(r->b, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    size_t data = netlink_open(r->b, NFTA_IMMEDIATE_DATA);
    netlink_attr(r->b, NFTA_DATA_VALUE, &to, sizeof(to));
    netlink_close(r->b, data);
    expression_end(r);
}

/* To the socket at this port of ours, with the packet as it is. */
static void hand_over(struct rule *r, uint16_t port)
{
    load_port(r, port);
    expression(r, "tproxy");
    netlink_be32(r->b, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC);
    netlink_be32(r->b, NFTA_TPROXY_REG_PORT, NFT_REG_1);
    expression_end(r);
    verdict(r, NF_ACCEPT);
}

static void redirect(struct rule *r, uint16_t port)
{
    load_port(r, port);
    expression(r, "redir");
    netlink_be32(r->b, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
    netlink_be32(r->b, NFTA_REDIR_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED);
    expression_end(r);
}

static void reject(struct rule *r)
{
    uint8_t code = NFT_REJECT_ICMPX_PORT_UNREACH;
    expression(r, "reject");
    netlink_be32(r->b, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    netlink_attr(r->b, NFTA_REJECT_ICMP_CODE, &code, 1);
    expression_end(r);
}

/* Leaves the chain for packets to one of our own addresses: the first n bytes of the destination
 * are these. */
static void pass_to(struct netlink *b, const char *chain, uint8_t family, const uint8_t *to,
                    uint32_t n)
{
    struct rule r = rule_begin(b, chain);
    load_meta(&r, NFT_META_NFPROTO);
    compare(&r, NFT_CMP_EQ, &family, 1);
    load_payload(&r, NFT_PAYLOAD_NETWORK_HEADER, family == NFPROTO_IPV4 ? 16 : 24, n);
    compare(&r, NFT_CMP_EQ, to, n);
    verdict(&r, NF_ACCEPT);
    rule_end(&r);
}

/* Begins a rule about packets of one protocol, to one port when that is not 0. */
static struct rule rule_for(struct netlink *b, const char *chain, uint8_t proto, uint16_t port)
{
    uint16_t wire = htons(port);
    struct rule r = rule_begin(b, chain);
    load_meta(&r, NFT_META_L4PROTO);
    compare(&r, NFT_CMP_EQ, &proto, 1);
    if (port) {
        load_payload(&r, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
        compare(&r, NFT_CMP_EQ, &wire, 2);
    }
    return r;
}

static void redirect_all(struct netlink *b, const char *chain, uint8_t proto, uint16_t port,
                         uint16_t to)
{
    struct rule r = rule_for(b, chain, proto, port);
    redirect(&r, to);
    rule_end(&r);
}

static void accept_all(struct netlink *b, const char *chain, uint8_t proto, uint16_t port)
{
    struct rule r = rule_for(b, chain, proto, port);
    verdict(&r, NF_ACCEPT);
    rule_end(&r);
}

/* What is not redirected and not at home fails at once, instead of being waited for. */
static void refuse_rest(struct netlink *b, const char *chain, bool relay)
{
    accept_all(b, chain, IPPROTO_UDP, relay ? 0 : PORT_DNS);
    struct rule rest = rule_begin(b, chain);
    reject(&rest);
    rule_end(&rest);
}

static void pass_own(struct netlink *b, const char *chain)
{
    static const uint8_t loopback4[] = {127}, loopback6[16] = {[15] = 1};
    pass_to(b, chain, NFPROTO_IPV4, loopback4, sizeof(loopback4));
    pass_to(b, chain, NFPROTO_IPV4, own_v4, 3);
    pass_to(b, chain, NFPROTO_IPV6, loopback6, sizeof(loopback6));
    pass_to(b, chain, NFPROTO_IPV6, own_v6, sizeof(own_v6));
}

/* relay: datagrams are handed over, which not every kernel can do. */
static int lay_rules(bool relay)
{
    static const char turn[] = "turn", refuse[] = "refuse", arrive[] = "arrive";
    struct netlink b = {0};
    OWN(fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (fd < 0)
        return -errno;
    batch_mark(&b, NFNL_MSG_BATCH_BEGIN);
    add_table(&b);
    add_chain(&b, turn, "nat", NF_INET_LOCAL_OUT, -100);
    pass_own(&b, turn);
    redirect_all(&b, turn, IPPROTO_TCP, 53, PORT_DNS_TCP);
    redirect_all(&b, turn, IPPROTO_TCP, 0, PORT_TCP);
    redirect_all(&b, turn, IPPROTO_UDP, 53, PORT_DNS);
    /* every packet passes the filters; of TCP they want nothing, and most of it is that */
    add_chain(&b, refuse, "filter", NF_INET_LOCAL_OUT, 0);
    accept_all(&b, refuse, IPPROTO_TCP, 0);
    pass_own(&b, refuse);
    refuse_rest(&b, refuse, relay);
    if (relay) {
        add_chain(&b, arrive, "filter", NF_INET_PRE_ROUTING, -150);
        accept_all(&b, arrive, IPPROTO_TCP, 0);
        pass_own(&b, arrive);
        struct rule r = rule_for(&b, arrive, IPPROTO_UDP, 0);
        hand_over(&r, PORT_UDP);
        rule_end(&r);
    }
    batch_mark(&b, NFNL_MSG_BATCH_END);
    return netlink_send(fd, &b);
}

/* ---- listeners ---- */

static const struct {
    int family, type;
    uint16_t port;
} sockets[LAY_UDP4] = {
    [LAY_TCP4] = {AF_INET, SOCK_STREAM, PORT_TCP},
    [LAY_TCP6] = {AF_INET6, SOCK_STREAM, PORT_TCP},
    [LAY_DNS4] = {AF_INET, SOCK_DGRAM, PORT_DNS},
    [LAY_DNS6] = {AF_INET6, SOCK_DGRAM, PORT_DNS},
    [LAY_DNS_TCP4] = {AF_INET, SOCK_STREAM, PORT_DNS_TCP},
    [LAY_DNS_TCP6] = {AF_INET6, SOCK_STREAM, PORT_DNS_TCP},
    [LAY_HTTP] = {AF_INET, SOCK_STREAM, LAY_HTTP_PORT},
    [LAY_SOCKS] = {AF_INET, SOCK_STREAM, LAY_SOCKS_PORT},
};

int lay_listen(int family, int type, uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const struct sockaddr *at = family == AF_INET ? (void *)&v4 : (void *)&v6;
    int one = 1;
    OWN(fd) int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
        return -errno;
    /* connections of a run before this one may still be ending */
    if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
        return -errno;
    if (bind(fd, at, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
        return -errno;
    return steal_fd(&fd);
}

/* Hears datagrams to anywhere, each with the address that it was sent to. IPv6 wants the socket to
 * be at every address, since the rule looks for it at one of the interface's. */
static int hear_datagrams(int family)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(PORT_UDP), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT_UDP)};
    const struct sockaddr *at = family == AF_INET ? (void *)&v4 : (void *)&v6;
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, one = 1;
    int through = family == AF_INET ? IP_TRANSPARENT : IPV6_TRANSPARENT;
    int whereto = family == AF_INET ? IP_RECVORIGDSTADDR : IPV6_RECVORIGDSTADDR;
    OWN(fd) int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, level, through, &one, sizeof(one)) < 0 ||
        setsockopt(fd, level, whereto, &one, sizeof(one)) < 0 ||
        (family == AF_INET6 && setsockopt(fd, level, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
        bind(fd, at, family == AF_INET ? sizeof(v4) : sizeof(v6)) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* Sends from any address and hears nothing: a raw socket would be told of every packet. */
static int open_raw(int family, int protocol)
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

static int open_relay(struct laid_network *out, bool v6)
{
    for (int six = 0; six <= (v6 ? 1 : 0); six++) {
        int family = six ? AF_INET6 : AF_INET;
        int fds[] = {hear_datagrams(family), open_raw(family, IPPROTO_UDP),
                     open_raw(family, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP)};
        out->fds[LAY_UDP4 + six] = fds[0];
        out->fds[LAY_BACK4 + six] = fds[1];
        out->fds[LAY_ICMP4 + six] = fds[2];
        for (size_t i = 0; i < 3; i++)
            if (fds[i] < 0)
                return fds[i];
    }
    return 0;
}

uint16_t lay_proxy_port(uint16_t usual, const struct local_port *local, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (local[i].tcp && local[i].port == usual)
            return lay_proxy_port((uint16_t)(usual + 1), local, n);
    return usual;
}

static int open_listeners(struct laid_network *out, bool v6, const struct lay_wishes *w)
{
    for (size_t i = 0; i < LAY_UDP4; i++) {
        uint16_t port = sockets[i].port;
        if (sockets[i].family == AF_INET6 && !v6)
            continue;
        if (i == LAY_HTTP || i == LAY_SOCKS)
            port = lay_proxy_port(port, w->local, w->nlocal);
        out->fds[i] = lay_listen(sockets[i].family, sockets[i].type, port);
        if (out->fds[i] < 0)
            return out->fds[i];
    }
    return 0;
}

/* ---- all of it ---- */

static bool has_v6(void)
{
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

size_t lay_places(struct laid_network *net, int *places[LAY_PLACES])
{
    size_t n = 0;
    for (size_t i = 0; i < LAY_SOCKETS; i++)
        places[n++] = &net->fds[i];
    for (size_t i = 0; i < LAY_LOCAL; i++)
        for (size_t k = 0; k < LAY_LOCAL_KINDS; k++)
            places[n++] = &net->local[i].fds[k];
    for (size_t i = 0; i < LAY_FAMILIES * LAY_INSIDE; i++)
        places[n++] = &net->inside[i / LAY_INSIDE][i % LAY_INSIDE];
    return n;
}

void lay_close(struct laid_network *net)
{
    int *places[LAY_PLACES];
    size_t n = lay_places(net, places);
    for (size_t i = 0; i < n; i++)
        if (*places[i] >= 0)
            close(steal_fd(places[i]));
}

static int open_local(struct laid_port *out, const struct local_port *want, bool v6)
{
    out->port = want->port;
    for (int i = 0; i < LAY_LOCAL_KINDS; i++) {
        bool udp = i >= LAY_LOCAL_UDP4, six = i & 1;
        if ((six && !v6) || !(udp ? want->udp : want->tcp))
            continue;
        out->fds[i] =
            lay_listen(six ? AF_INET6 : AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, want->port);
        if (out->fds[i] < 0)
            return out->fds[i];
    }
    return 0;
}

static int open_inside(int out[LAY_INSIDE], int family)
{
    for (size_t i = 0; i < LAY_INSIDE; i++) {
        out[i] = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (out[i] < 0)
            return -errno;
    }
    return 0;
}

int lay_network(const struct lay_wishes *wishes, struct laid_network *out)
{
    bool v6 = has_v6();
    lay_none(out);
    int err = lay_roads(v6);
    bool relay = err == 0 && lay_rules(true) == 0;
    if (err == 0 && !relay)
        err = lay_rules(false); /* of the first nothing was kept: all or none of it is */
    if (err == 0)
        err = open_listeners(out, v6, wishes);
    if (err == 0 && relay)
        err = open_relay(out, v6);
    for (size_t i = 0; err == 0 && i < wishes->nlocal && i < LAY_LOCAL; i++)
        err = open_local(&out->local[i], &wishes->local[i], v6);
    if (err == 0 && wishes->inside)
        err = open_inside(out->inside[0], AF_INET);
    if (err == 0 && wishes->inside && v6)
        err = open_inside(out->inside[1], AF_INET6);
    if (err < 0)
        lay_close(out);
    return err;
}
