/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Network endpoints. Addresses have 16 bytes, IPv4 in its v4-mapped form, so that one prefix
 * comparison serves both families. A set has one family, since ::/0 does not include IPv4.
 */

#include "graph/net.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { FAMILY_BITS = NET_IP, TRANSPORT_BITS = 12, PORT_MAX = 65535, HOST_MAX = 64 };

static const struct {
    const char *name;
    uint16_t proto;
} protos[] = {
    /* If a number has several names, the first is printed. */
    {"ip", NET_IP},
    {"ip4", NET_IP4},
    {"ip6", NET_IP6},
    {"tcp", NET_TCP},
    {"tcp4", NET_TCP4},
    {"tcp6", NET_TCP6},
    {"udp", NET_UDP},
    {"udp4", NET_UDP4},
    {"udp6", NET_UDP6},
    {"ip*", NET_IP},
    {"tcp*", NET_TCP},
    {"udp*", NET_UDP},
    {"unix-socket", NET_UNIX},
    {"unix", NET_UNIX},
};

bool net_proto_find(const char *name, size_t n, uint16_t *proto)
{
    for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++)
        if (strlen(protos[i].name) == n && memcmp(protos[i].name, name, n) == 0) {
            *proto = protos[i].proto;
            return true;
        }
    return false;
}

const char *net_proto_name(uint16_t proto)
{
    for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++)
        if (protos[i].proto == proto)
            return protos[i].name;
    return "ip";
}

const char *net_transport_name(uint16_t proto)
{
    switch (proto & TRANSPORT_BITS) {
    case 4:
        return "tcp";
    case 8:
        return "udp";
    default:
        return NULL;
    }
}

struct net_socket net_socket_of(uint16_t proto)
{
    enum { INET = 2, INET6 = 30, STREAM = 1, DATAGRAM = 2, TCP = 6, UDP = 17 };
    struct net_socket s = {0};
    if (proto & NET_UNIX)
        return (struct net_socket){.domain = NET_DOMAIN_UNIX};
    if ((proto & NET_IP) != NET_IP)
        s.domain = proto & NET_IP4 ? INET : proto & NET_IP6 ? INET6 : 0;
    if ((proto & TRANSPORT_BITS) == (NET_TCP & TRANSPORT_BITS))
        s.type = STREAM, s.protocol = TCP;
    if ((proto & TRANSPORT_BITS) == (NET_UDP & TRANSPORT_BITS))
        s.type = DATAGRAM, s.protocol = UDP;
    return s;
}

/* ---- reading ---- */

static int port_number(const char *s, size_t n, uint16_t *port)
{
    unsigned v = 0;
    if (n == 0 || n > 5)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        v = v * 10 + (unsigned)(s[i] - '0');
    }
    if (v > PORT_MAX)
        return -1;
    *port = (uint16_t)v;
    return 0;
}

static int bad_port(const char *s, size_t n, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "\"%.*s\" is not a port", n > 40 ? 40 : (int)n, s);
    err_hint(err, "a port is a number up to 65535, a range such as 1024-65535, or *");
    return -1;
}

int net_ports_parse(const char *s, size_t n, uint16_t *lo, uint16_t *hi, struct bk_err *err)
{
    uint16_t a, b;
    const char *dash = n ? memchr(s, '-', n) : NULL;
    if (n == 1 && s[0] == '*') {
        a = 0;
        b = PORT_MAX;
    } else if (dash) {
        size_t k = (size_t)(dash - s);
        if (port_number(s, k, &a) < 0 || port_number(dash + 1, n - k - 1, &b) < 0)
            return bad_port(s, n, err);
        if (a > b) {
            err_set(err, BK_E_INPUT, "the port range %u-%u is empty", a, b);
            err_hint(err, "write the smaller port first: %u-%u", b, a);
            return -1;
        }
    } else {
        if (port_number(s, n, &a) < 0)
            return bad_port(s, n, err);
        b = a;
    }
    *lo = a;
    *hi = b;
    return 0;
}

static int bad_host(const char *s, size_t n, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "\"%.*s\" is not an address", n > 60 ? 60 : (int)n, s);
    err_hint(err, "write *, localhost or an IP address; use (domain …) for host names");
    return -1;
}

/* Zeroes the bits outside the prefix, so that equal sets are equal bytes. */
static void mask_address(struct net_endpoint *e)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned have = e->prefix > i * 8 ? e->prefix - i * 8 : 0;
        if (have < 8)
            e->addr[i] &= (uint8_t)(0xff00 >> have);
    }
}

static int parse_address(const char *s, size_t n, struct net_endpoint *e, bool *extension,
                         struct bk_err *err)
{
    char text[HOST_MAX];
    const char *slash = memchr(s, '/', n);
    size_t len = slash ? (size_t)(slash - s) : n;
    if (len >= sizeof(text))
        return bad_host(s, n, err);
    memcpy(text, s, len);
    text[len] = '\0';
    if (strlen(text) != len)
        return bad_host(s, n, err);
    bool four = inet_pton(AF_INET, text, e->addr + 12) == 1;
    if (four) {
        memset(e->addr, 0, 10);
        memset(e->addr + 10, 0xff, 2);
    } else if (inet_pton(AF_INET6, text, e->addr) != 1) {
        return bad_host(s, n, err);
    }
    uint16_t bits = four ? 32 : 128;
    if (slash && (port_number(slash + 1, n - len - 1, &bits) < 0 || bits > (four ? 32 : 128))) {
        err_set(err, BK_E_INPUT, "\"%.*s\" has no valid prefix length", n > 60 ? 60 : (int)n, s);
        err_hint(err, "an IPv4 prefix is /0 to /32, an IPv6 prefix /0 to /128");
        return -1;
    }
    e->host = NET_HOST_ADDRESS;
    e->prefix = (uint8_t)(four ? 96 + bits : bits);
    mask_address(e);
    *extension = true;
    return 0;
}

static int parse_host(const char *s, size_t n, struct net_endpoint *e, bool *extension,
                      struct bk_err *err)
{
    if (n == 1 && s[0] == '*') {
        e->host = NET_HOST_ANY;
        return 0;
    }
    if ((n == 9 && memcmp(s, "localhost", 9) == 0) || (n == 5 && memcmp(s, "local", 5) == 0)) {
        e->host = NET_HOST_LOCALHOST;
        return 0;
    }
    if (n == 0)
        return bad_host(s, n, err);
    return parse_address(s, n, e, extension, err);
}

/* Splits the port off: it follows the last colon, unless the colons belong to an IPv6 address.
 * Removes brackets around the host. */
static bool split_port(const char **s, size_t *n, const char **port, size_t *port_len)
{
    const char *end = *s + *n;
    *port = NULL;
    if (*n && **s == '[') {
        const char *close = memchr(*s, ']', *n);
        if (!close || (close + 1 < end && close[1] != ':'))
            return false;
        if (close + 1 < end) {
            *port = close + 2;
            *port_len = (size_t)(end - *port);
        }
        *n = (size_t)(close - *s) - 1;
        ++*s;
        return true;
    }
    const char *colon = *n ? memchr(*s, ':', *n) : NULL;
    if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        *port = colon + 1;
        *port_len = (size_t)(end - *port);
        *n = (size_t)(colon - *s);
    }
    return true;
}

int net_endpoint_parse(const char *s, size_t n, struct net_endpoint *out, bool *extension,
                       struct bk_err *err)
{
    struct net_endpoint e = {.proto = out->proto, .port_hi = PORT_MAX};
    const char *host = s, *port;
    size_t host_len = n, port_len = 0;
    bool extended = false;
    if (!split_port(&host, &host_len, &port, &port_len))
        return bad_host(s, n, err);
    if (port && net_ports_parse(port, port_len, &e.port_lo, &e.port_hi, err) < 0)
        return -1;
    if (parse_host(host, host_len, &e, &extended, err) < 0)
        return -1;
    if (port && memchr(port, '-', port_len))
        extended = true;
    *out = e;
    if (extension)
        *extension = extended;
    return 0;
}

/* ---- matching ---- */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t loopback4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
static const uint8_t loopback6[16] = {[15] = 1};

static uint16_t address_family(const struct net_endpoint *e)
{
    return e->prefix >= 96 && memcmp(e->addr, mapped, sizeof(mapped)) == 0 ? NET_IP4 : NET_IP6;
}

static bool prefix_holds(const uint8_t *set, unsigned bits, const uint8_t *addr)
{
    if (memcmp(set, addr, bits / 8) != 0)
        return false;
    unsigned rest = bits % 8;
    return rest == 0 || ((set[bits / 8] ^ addr[bits / 8]) & (0xff00 >> rest) & 0xff) == 0;
}

/* The families the endpoint may have: those of its protocol, narrowed by its address. */
static uint16_t families(const struct net_endpoint *e)
{
    uint16_t f = e->proto & FAMILY_BITS;
    return e->host == NET_HOST_ADDRESS ? (uint16_t)(f & address_family(e)) : f;
}

static bool is_loopback_set(const struct net_endpoint *e)
{
    static const struct net_endpoint four = {.prefix = 104,
                                             .addr = {[10] = 0xff, [11] = 0xff, [12] = 127}};
    if (address_family(e) == NET_IP4)
        return e->prefix >= 104 && prefix_holds(four.addr, four.prefix, e->addr);
    return e->prefix == 128 && memcmp(e->addr, loopback6, 16) == 0;
}

static bool holds_loopback(const struct net_endpoint *set, uint16_t wanted)
{
    uint16_t f = address_family(set);
    if (!(f & wanted))
        return false;
    return prefix_holds(set->addr, set->prefix, f == NET_IP4 ? loopback4 : loopback6);
}

static bool address_within(const struct net_endpoint *set, const struct net_endpoint *e)
{
    return address_family(set) == address_family(e) && set->prefix <= e->prefix &&
           prefix_holds(set->addr, set->prefix, e->addr);
}

static bool host_holds(const struct net_endpoint *filter, const struct net_endpoint *query)
{
    if (filter->host == NET_HOST_ANY)
        return true;
    if (query->host == NET_HOST_ANY)
        return false;
    if (filter->host == NET_HOST_LOCALHOST)
        return query->host == NET_HOST_LOCALHOST || is_loopback_set(query);
    if (query->host == NET_HOST_LOCALHOST)
        return holds_loopback(filter, query->proto & FAMILY_BITS);
    return address_within(filter, query);
}

static bool transport_holds(const struct net_endpoint *filter, const struct net_endpoint *query)
{
    uint16_t wanted = filter->proto & TRANSPORT_BITS;
    return wanted == 0 || wanted == (query->proto & TRANSPORT_BITS);
}

bool net_endpoint_match(const struct net_endpoint *filter, const struct net_endpoint *query)
{
    if ((filter->proto | query->proto) & NET_UNIX)
        return filter->proto == query->proto;
    uint16_t f = filter->proto & FAMILY_BITS, q = families(query);
    bool family = query->host == NET_HOST_ANY ? (q & ~f) == 0 : (q & f) != 0;
    return family && transport_holds(filter, query) && query->port_lo >= filter->port_lo &&
           query->port_hi <= filter->port_hi && host_holds(filter, query);
}

bool net_endpoint_covers(const struct net_endpoint *a, const struct net_endpoint *b)
{
    if ((a->proto | b->proto) & NET_UNIX)
        return a->proto == b->proto;
    if (families(b) & ~a->proto || !transport_holds(a, b))
        return false;
    if (b->port_lo < a->port_lo || b->port_hi > a->port_hi)
        return false;
    if (a->host == NET_HOST_ADDRESS && b->host == NET_HOST_LOCALHOST)
        return false;
    return host_holds(a, b);
}

/* ---- writing ---- */

static void print_address(const struct net_endpoint *e, struct buf *out)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool four = address_family(e) == NET_IP4;
    unsigned bits = four ? e->prefix - 96u : e->prefix;
    inet_ntop(four ? AF_INET : AF_INET6, four ? e->addr + 12 : e->addr, text, sizeof(text));
    buf_fmt(out, four ? "%s" : "[%s", text);
    if (bits != (four ? 32 : 128))
        buf_fmt(out, "/%u", bits);
    if (!four)
        buf_chr(out, ']');
}

void net_endpoint_print(const struct net_endpoint *e, struct buf *out)
{
    buf_str(out, net_proto_name(e->proto));
    if (e->proto & NET_UNIX)
        return;
    buf_str(out, " \"");
    if (e->host == NET_HOST_ADDRESS)
        print_address(e, out);
    else
        buf_str(out, e->host == NET_HOST_LOCALHOST ? "localhost" : "*");
    if (e->port_lo == 0 && e->port_hi == PORT_MAX)
        buf_str(out, ":*");
    else if (e->port_lo == e->port_hi)
        buf_fmt(out, ":%u", e->port_lo);
    else
        buf_fmt(out, ":%u-%u", e->port_lo, e->port_hi);
    buf_chr(out, '"');
}
