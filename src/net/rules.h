/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_RULES_H
#define BK_NET_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "graph/peer.h"

/* What the policy says about going out to a host: its question is network-outbound. */

enum { RULES_PORTS = 64 };

struct net_rules {
    const struct graph *graph;
    struct graph_cache *cache;
    uint16_t ports[RULES_PORTS]; /* that the policy tells apart, and one that it does not */
    size_t nports;
    bool any_port; /* there are more of them than fit: every name could be allowed */
    uint8_t open;  /* whether every host is allowed: 0 unknown, 1 no, 2 yes */
};

int rules_init(struct net_rules *r, const struct graph *g); /* -1 without memory */
void rules_free(struct net_rules *r);

/* proto: NET_TCP or NET_UDP. */
struct graph_verdict rules_ask(struct net_rules *r, const struct peer *host, uint16_t port,
                               uint16_t proto);
/* Whether a rule denies it by what it is, and not only because nothing allows it. */
bool rules_explicit(const struct net_rules *r, const struct graph_verdict *v);
/* Whether some port of the host could be allowed; the verdict is that, or a denial to tell of. */
struct graph_verdict rules_ask_name(struct net_rules *r, const struct peer *host);
/* Whether some port of it is allowed for certain. */
bool rules_allow_name(struct net_rules *r, const struct peer *host);
/* Whether a rule that allows it writes the name out, rather than a wildcard above it. */
bool rules_spell(struct net_rules *r, const struct peer *host);
bool rules_are_open(struct net_rules *r); /* any name at all is allowed, at some port */
/* Whether a rule that allows this address, or this port of loopback, names it and the port and
 * nothing besides. Never for other names. */
bool rules_name_place(struct net_rules *r, const struct peer *host, uint16_t port);
/* Whether a rule allows this very address, and not just any: then it may be a special one. */
bool rules_name_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto);
/* Whether a rule denies this very address, or a range that it is in: then no name leads there. */
bool rules_deny_address(struct net_rules *r, const uint8_t addr[16], uint16_t port, uint16_t proto);

/* Whether a host beyond this machine could be allowed at all. */
bool rules_lead_out(const struct graph *g);

/* Ports of other machines that rules name, and then well-known ones (ports.def): at most cap of
 * them. */
size_t rules_remote_ports(const struct graph *g, uint16_t *ports, size_t cap);

/* A port of loopback that a rule names. */
struct local_port {
    uint16_t port;
    bool tcp, udp;
};

/* Those of the host's that the command may be allowed to reach: at most cap of them. Whether it is
 * is asked when it tries. */
size_t rules_local_ports(const struct graph *g, struct local_port *ports, size_t cap);
/* Those of the sandbox's that the host may reach: binding to them and being called there are both
 * allowed. A rule about all of them names none. */
size_t rules_published_ports(const struct graph *g, uint16_t *ports, size_t cap);
bool rules_publish_all(const struct graph *g); /* whether there is such a rule */

#endif
