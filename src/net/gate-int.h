/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_INT_H
#define BK_NET_GATE_INT_H

#include "net/conn.h"
#include "net/datagram.h"
#include "net/dial.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/name-address.h"
#include "net/request.h"
#include "net/rules.h"

/* The state of the gate, which its files share. */

enum {
    SCRATCH_BYTES = 1 << 20, /* read at once */
    GATE_ANNOUNCED = 256,    /* announcements that wait for their connection */
    GATE_REFUSED = 64,
    GATE_REACHED = 512,
    GATE_SERVERS = 64, /* servers of the command that are noted as they start */
};

/* Kinds of listeners: enum netns_socket, and these. */
enum {
    LISTEN_LOCAL = NETNS_SOCKETS, /* a port of the host's loopback, inside */
    LISTEN_LOCAL_DATAGRAMS,
    LISTEN_PUBLISHED, /* a port of the command, on the host */
    LISTEN_PORT,      /* netns_sockets.ports: connections to this port of any address */
};

enum {
    LISTENERS = NETNS_SOCKETS + NETNS_LOCAL * NETNS_LOCAL_KINDS +
                (GATE_PUBLISHED + GATE_SERVERS) * GATE_FAMILIES + NETNS_PORTS + GATE_PROXIES
};

struct listener {
    struct watch watch; /* fd -1: not used */
    struct gate *gate;
    uint8_t kind;
    bool v6;
    uint16_t port; /* for the LISTEN_ kinds */
    bool server;   /* LISTEN_PUBLISHED for a server that has started */
    uint8_t burst; /* connections it may accept in a turn */
    uint64_t turn; /* when it last accepted */
};

/* A refused packet that was reported recently. */
struct gate_refused {
    struct flow_key key;
    bool udp;
    uint64_t until_ms;
};

struct gate {
    const struct gate_options *o;
    struct loop loop;
    struct net_rules rules;
    struct dialer dialer;
    struct name_addresses names;
    struct listener listeners[LISTENERS];
    size_t nlisteners;
    int inside[NETNS_FAMILIES][NETNS_INSIDE]; /* unused sockets to the command's servers */
    size_t ninside[NETNS_FAMILIES];
    int spare[NETNS_PORTS]; /* to listen at ports that a later policy names */
    size_t nspare;
    struct gate_refused refused[GATE_REFUSED];
    uint64_t reached[GATE_REACHED]; /* hashes of hosts that were reported */
    unsigned nrefused;
    struct watch until, announcer, link, handed;
    struct gate_announcement announced[GATE_ANNOUNCED];
    unsigned nannounced;
    struct conn *conns, *dead, *busy;
    struct conn *gathered[TLS_JOBS / 2]; /* what their clients and servers say is in one call */
    unsigned ngathered;
    bool defers; /* what is sent to them waits for another call */
    struct lookup *lookups;
    size_t nlookups;
    struct flows *flows;   /* of datagrams; NULL before the first */
    struct asking *asking; /* NULL: the user is not asked */
    size_t nconns, nh2;
    bool over;
    uint16_t servers[GATE_SERVERS]; /* ports of servers that have started */
    size_t nservers;
    bool sweeps;            /* something may expire */
    char login[HTTP_BASIC]; /* "Basic …" with the token */
    char scratch[SCRATCH_BYTES];
    struct http_head head, outgoing; /* as it came, and with secrets */
    struct decider *decider;         /* or NULL */
    size_t nended;                   /* connections whose TLS ends here */
    const struct secrets *secrets;   /* or NULL */
    struct tls_helper *tls;          /* NULL: TLS cannot be terminated */
    char readings[REQUEST_ROOM];     /* of the target that is being checked */
};

/* Reports a denial, if the rule wants a report. */
void gate_deny(struct gate *g, const struct gate_denial *d);
/* Reports an allowed connection, if that is wanted and its host is new. */
void gate_allow(struct gate *g, const struct gate_denial *d);

/* Without packet rules: whether connections to this port of any address reach the gate. */
bool gate_listens(const struct gate *g, uint16_t port);

/* Watches a listener; fd may be -1. Returns 0 or a negative errno. */
int gate_add_listener(struct gate *g, int fd, unsigned kind, uint16_t port, bool v6);

enum may { MAY_NOT, MAY, MAY_LATER };

struct gate_verdict {
    struct graph_verdict rule;
    const char *why; /* NULL: only the rule */
};

/* Whether the connection may go to this host and port. A denial has been reported. MAY_LATER: ask
 * again when the connection is resumed. */
enum may gate_check(struct conn *c, const struct peer *host, uint16_t port, struct gate_verdict *v);

/* Finds the host that an address stands for. Returns false for an address that is reserved for
 * names but has none: it leads nowhere. */
bool gate_host_of(const struct gate *g, const uint8_t addr[16], struct peer *out);

#endif
