/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_NET_H
#define BK_GRAPH_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Network endpoints, as filters name them and as queries carry them. One struct serves both: a
 * filter is a set of endpoints (masks, prefix length, port range), a query is a set of one.
 */
enum net_proto { /* bits, with Apple's numbers for the Internet ones */
                 NET_IP4 = 1,
                 NET_IP6 = 2,
                 NET_IP = 3,
                 NET_TCP4 = 5,
                 NET_TCP6 = 6,
                 NET_TCP = 7,
                 NET_UDP4 = 9,
                 NET_UDP6 = 10,
                 NET_UDP = 11,
                 NET_UNIX = 0x100,
};

enum { NET_DOMAIN_UNIX = 1 }; /* AF_UNIX, as the filter socket-domain has it */

/* What an endpoint's protocol says about its socket, in macOS's numbers, as the filters
 * socket-domain, socket-type and socket-protocol have them. 0: nothing. */
struct net_socket {
    int domain, type, protocol;
};
struct net_socket net_socket_of(uint16_t proto);

enum net_host {
    NET_HOST_ANY,       /* "*", or not given */
    NET_HOST_LOCALHOST, /* 127.0.0.0/8 and ::1 */
    NET_HOST_ADDRESS,   /* addr/prefix */
};

struct net_endpoint {
    uint16_t proto; /* enum net_proto */
    uint8_t host;   /* enum net_host */
    uint8_t prefix; /* bits of addr that count; IPv4 addresses are v4-mapped, so 96 + n */
    uint8_t addr[16];
    uint16_t port_lo, port_hi; /* inclusive; 0 and 65535 for any */
};

/* "tcp", "ip4", "udp*", "unix-socket"… → NET_…; false when unknown. */
bool net_proto_find(const char *name, size_t n, uint16_t *proto);
const char *net_proto_name(uint16_t proto);
/* "tcp" or "udp", as the protocol filter calls them; NULL for others. */
const char *net_transport_name(uint16_t proto);

/* "host:port", "host", "*:80", "localhost:*", "[::1]:443", "10.0.0.0/8", "*:1024-65535". Fills
 * host, addr, prefix and ports, not proto. Sets *extension for spellings that Apple's compiler
 * rejects (an address, a CIDR, a range). */
int net_endpoint_parse(const char *s, size_t n, struct net_endpoint *out, bool *extension,
                       struct bk_err *err);

/* "80", "1024-65535", "*" → ports. */
int net_ports_parse(const char *s, size_t n, uint16_t *lo, uint16_t *hi, struct bk_err *err);

/* Whether the query's endpoint is in the filter's set. A query without an address (host ANY)
 * matches only filters that accept any host. The query "localhost" is in every set of addresses
 * that contains 127.0.0.1 or ::1. */
bool net_endpoint_match(const struct net_endpoint *filter, const struct net_endpoint *query);

/* Whether every endpoint of the set b is in the set a. */
bool net_endpoint_covers(const struct net_endpoint *a, const struct net_endpoint *b);

/* As a filter's arguments: `tcp "localhost:80"`. */
void net_endpoint_print(const struct net_endpoint *e, struct buf *out);

/* "a.b", "*.a.b" (strict subdomains), each with an optional ":port"; case-insensitive, a trailing
 * dot is ignored; IPs match exactly. subject is "host" or "host:port". */
bool net_domain_match(const char *pattern, size_t n, const char *subject, size_t m);
int net_domain_check(const char *pattern, size_t n, struct bk_err *err);

/* For indexes: if a pattern matches a subject, the subject has the pattern's key among its keys.
 * The reverse does not hold. */
typedef void net_domain_key_fn(void *arg, uint64_t key);
uint64_t net_domain_key(const char *pattern, size_t n);
void net_domain_keys(const char *subject, size_t m, net_domain_key_fn *each, void *arg);

#endif
