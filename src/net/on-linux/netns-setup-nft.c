/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The nftables rules that lead all packets to the gate (netns-setup.c). They are written as netlink
 * messages, so that no nft program is needed.
 *
 * In hand-over mode, one prerouting chain hands new connections and datagrams to the listeners
 * (tproxy). In redirect mode, a NAT chain redirects connections and DNS, and a filter chain rejects
 * other datagrams.
 */

#include <errno.h>
#include <netinet/in.h> /* must precede the kernel's headers, which then skip their own definitions */

#include <linux/in6.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "net/on-linux/netlink.h"
#include "net/on-linux/netns-setup-int.h"

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

/* A rule is a list of expressions; evaluation stops at the first that doesn't match. */
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

static void mask(struct rule *r, const void *bits, size_t n)
{
    static const uint8_t zero[16];
    const struct {
        uint16_t type;
        const void *data;
    } lists[] = {{NFTA_BITWISE_MASK, bits}, {NFTA_BITWISE_XOR, zero}};
    expression(r, "bitwise");
    netlink_be32(r->b, NFTA_BITWISE_SREG, NFT_REG_1);
    netlink_be32(r->b, NFTA_BITWISE_DREG, NFT_REG_1);
    netlink_be32(r->b, NFTA_BITWISE_LEN, (uint32_t)n);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t data = netlink_open(r->b, lists[i].type);
        netlink_attr(r->b, NFTA_DATA_VALUE, lists[i].data, n);
        netlink_close(r->b, data);
    }
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

/* Delivers the packet unchanged to our socket at this port. */
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

/* Accepts packets to one of our own addresses: the destination starts with these n bytes. */
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

/* Starts a rule for packets of one protocol, to one port unless it is 0. */
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

typedef void lead(struct rule *r, uint16_t port);

/* how: hand_over or redirect. */
static void lead_all(struct netlink *b, const char *chain, lead *how, uint8_t proto, uint16_t port,
                     uint16_t to)
{
    struct rule r = rule_for(b, chain, proto, port);
    how(&r, to);
    rule_end(&r);
}

/* Accepts TCP packets other than the first of a connection: they find their socket, or
 * none exists. */
static void accept_following(struct netlink *b, const char *chain)
{
    static const uint8_t syn = 0x02, syn_or_ack = 0x12;
    struct rule r = rule_for(b, chain, IPPROTO_TCP, 0);
    load_payload(&r, NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
    mask(&r, &syn_or_ack, 1);
    compare(&r, NFT_CMP_NEQ, &syn, 1);
    verdict(&r, NF_ACCEPT);
    rule_end(&r);
}

static void accept_all(struct netlink *b, const char *chain, uint8_t proto, uint16_t port)
{
    struct rule r = rule_for(b, chain, proto, port);
    verdict(&r, NF_ACCEPT);
    rule_end(&r);
}

static void pass_own(struct netlink *b, const char *chain)
{
    static const uint8_t loopback4[] = {127}, loopback6[16] = {[15] = 1};
    pass_to(b, chain, NFPROTO_IPV4, loopback4, sizeof(loopback4));
    pass_to(b, chain, NFPROTO_IPV4, netns_own_v4, 3);
    pass_to(b, chain, NFPROTO_IPV6, loopback6, sizeof(loopback6));
    pass_to(b, chain, NFPROTO_IPV6, netns_own_v6, sizeof(netns_own_v6));
}

/* Rejects the rest, so that it fails at once instead of timing out. */
static void reject_rest(struct netlink *b, const char *chain)
{
    struct rule rest = rule_begin(b, chain);
    reject(&rest);
    rule_end(&rest);
}

/* Most packets belong to an established TCP connection, so their rule comes first. */
static void add_hand_over(struct netlink *b)
{
    static const char arrive[] = "arrive";
    add_chain(b, arrive, "filter", NF_INET_PRE_ROUTING, -150);
    accept_following(b, arrive);
    pass_own(b, arrive);
    lead_all(b, arrive, hand_over, IPPROTO_TCP, PORT_NAMES, PORT_DNS_TCP);
    lead_all(b, arrive, hand_over, IPPROTO_TCP, 0, PORT_TCP);
    lead_all(b, arrive, hand_over, IPPROTO_UDP, PORT_NAMES, PORT_DNS);
    lead_all(b, arrive, hand_over, IPPROTO_UDP, 0, PORT_UDP);
    reject_rest(b, arrive);
}

static void add_redirection(struct netlink *b)
{
    static const char turn[] = "turn", refuse[] = "refuse";
    add_chain(b, turn, "nat", NF_INET_LOCAL_OUT, -100);
    pass_own(b, turn);
    lead_all(b, turn, redirect, IPPROTO_TCP, PORT_NAMES, PORT_DNS_TCP);
    lead_all(b, turn, redirect, IPPROTO_TCP, 0, PORT_TCP);
    lead_all(b, turn, redirect, IPPROTO_UDP, PORT_NAMES, PORT_DNS);
    add_chain(b, refuse, "filter", NF_INET_LOCAL_OUT, 0);
    accept_all(b, refuse, IPPROTO_TCP, 0);
    pass_own(b, refuse);
    accept_all(b, refuse, IPPROTO_UDP, PORT_DNS);
    reject_rest(b, refuse);
}

int netns_rules(bool hand_over)
{
    struct netlink b = {0};
    OWN(fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    if (fd < 0)
        return -errno;
    batch_mark(&b, NFNL_MSG_BATCH_BEGIN);
    add_table(&b);
    if (hand_over)
        add_hand_over(&b);
    else
        add_redirection(&b);
    batch_mark(&b, NFNL_MSG_BATCH_END);
    return netlink_send(fd, &b);
}
