/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_RULES_H
#define BK_NET_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/eval.h"
#include "graph/peer.h"

/* What the policy decides about connections to a host (network-outbound). */

enum { RULES_PORTS = 64 };

struct net_rules {
    const struct graph *graph;
    struct graph_cache *cache;
    uint16_t ports[RULES_PORTS]; /* one from each range that the policy distinguishes */
    size_t nports;
    bool any_port; /* too many to list: any name could be allowed */
    uint8_t open;  /* whether every host is allowed: 0 unknown, 1 no, 2 yes */
    bool requests; /* rules distinguish requests */
};

int rules_init(struct net_rules *r, const struct graph *g); /* returns -1 without memory */
void rules_free(struct net_rules *r);

/* proto: NET_TCP or NET_UDP. If the verdict depends on the request, a TCP connection is allowed,
 * because its requests are checked one by one, and UDP is not. */
struct graph_verdict rules_ask(struct net_rules *r, const struct peer *host, uint16_t port,
                               uint16_t proto);
/* Whether some requests to this host are allowed and others are not, so that a connection must not
 * carry anything that cannot be checked. */
bool rules_by_request(struct net_rules *r, const struct peer *host, uint16_t port);

/* A request as rules see it: the path and the query are decoded (request.h). */
struct rules_request {
    const char *method, *path, *query;
    size_t nmethod, npath, nquery;
};
struct graph_verdict rules_ask_request(struct net_rules *r, const struct peer *host, uint16_t port,
                                       const struct rules_request *q);
/* Whether a rule denies it specifically, and not just by default. */
bool rules_explicit(const struct net_rules *r, const struct graph_verdict *v);
/* Whether some port of the host could be allowed. The verdict is that one, or the denial
 * to report. */
struct graph_verdict rules_ask_name(struct net_rules *r, const struct peer *host);
/* Whether some port of the host is definitely allowed. */
bool rules_allow_name(struct net_rules *r, const struct peer *host);
/* Whether a rule that allows it spells out the name, rather than a wildcard. */
bool rules_spell(struct net_rules *r, const struct peer *host);
bool rules_are_open(struct net_rules *r); /* any host is allowed, on some port */
/* Whether a rule allows exactly this address and port, or this local port, and nothing else. Always
 * false for other names. */
bool rules_name_place(struct net_rules *r, const struct peer *host, uint16_t port);
/* Whether a rule allows this specific address; it may then be a special one. */
bool rules_name_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto);
/* Whether a rule denies this specific address or its range; no name may then lead there. */
bool rules_deny_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto);

/* Whether it is meant to allow this loopback host: a rule names it, or allows everything. A rule
 * for every host ("*") means other machines. */
bool rules_open_here(struct net_rules *r, const struct peer *host, uint16_t port, uint16_t proto);

/* Whether the policy could allow any host beyond this machine. */
bool rules_lead_out(const struct graph *g);

/* Lists remote ports that rules name, then well-known ones (ports.def); at most cap. */
size_t rules_remote_ports(const struct graph *g, uint16_t *ports, size_t cap);

/* A loopback port that a rule names. */
struct local_port {
    uint16_t port;
    bool tcp, udp;
};

/* Lists the host's loopback ports that the policy might allow; at most cap. The actual check
 * happens when the command connects. */
size_t rules_local_ports(const struct graph *g, struct local_port *ports, size_t cap);
/* Lists the sandbox's ports that the host may reach: both binding and inbound connections are
 * allowed. Rules about all ports don't count. */
size_t rules_published_ports(const struct graph *g, uint16_t *ports, size_t cap);
/* The rule by which the host may reach this port. */
uint32_t rules_publishing(const struct graph *g, uint16_t port);
/* Whether the host may reach the sandbox's ports beyond those, or one of them. */
bool rules_publish_all(const struct graph *g);
bool rules_publish(const struct graph *g, uint16_t port);
/* Whether the policy allows loopback ports beyond those that rules name one by one. */
bool rules_local_all(const struct graph *g);

#endif
