/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_H
#define BK_NET_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/eval.h"
#include "graph/peer.h"
#include "net/netns-setup.h"
#include "net/packets.h"
#include "net/parent-proxy.h"
#include "net/session-link.h"

/*
 * The gate: everything that the sandbox sends out arrives here, is checked by name, and leaves from
 * here or not at all. It is a process outside the sandbox's network that has only the sockets it
 * was given.
 *
 *   transparent   the stub resolver gave out the address, so the gate knows the name
 *   HTTP proxy    the name is in the request
 *   SOCKS proxy   the name is in the request
 *
 * If the client then names a host itself (in a TLS hello or a Host field), it must be the same.
 */

/* The client's end of a connection, inside the sandbox. port 0: unknown. */
struct gate_client {
    uint8_t addr[16];
    uint16_t port;
};

/* A refused connection, datagram or lookup. */
struct secrets;
struct handling;
struct gate_users;

struct gate_denial {
    const struct peer *host;
    uint16_t port; /* 0: only a name lookup */
    bool udp;
    struct graph_verdict verdict;
    const char *why;     /* the reason, if not the rule: "127.0.0.1 is loopback"; or NULL */
    const char *request; /* "POST /path", if the connection is allowed and this request is not */
    struct gate_client client;
    bool reached; /* no denial: the first connection to an allowed host */
};

/* A question for the user. */
struct gate_question {
    uint32_t id;
    bool withdrawn; /* nothing waits for the answer any more; no other field is set */
    const struct peer *host;
    uint16_t port;
    bool udp;
    uint32_t wait_ms;
    struct gate_client client;
};

/* Listeners on the host's loopback that lead to the command's servers. */
enum { GATE_PUBLISHED = 16, GATE_FAMILIES = 2, GATE_PROXIES = 16 };

struct gate_port {
    uint16_t port;          /* 0: end of the list */
    int fds[GATE_FAMILIES]; /* IPv4, IPv6; or -1 */
};

/* The original destination of a connection to NETNS_TCP4 or NETNS_LOOP4. */
struct gate_announcement {
    uint16_t client; /* the client's port, on loopback; 0: the command listens at port */
    uint16_t port;
    uint8_t addr[16];
    bool peer; /* NETNS_LOOP4: a server of another command of the session */
};

struct gate_options {
    const struct graph *graph;
    /* Without a network namespace, each connection is announced in a message on this socket,
     * shortly before or after it arrives. Otherwise the packets carry the destination. */
    bool announced;
    /* With one, connections to NETNS_LOOP4 and NETNS_LOOP6 are announced in the same way, and ports
     * at which the command listens. */
    bool local;
    int announcements;
    bool linked; /* the command belongs to a session, which this leads to */
    int link;
    struct link_ports *link_ports; /* if so: where the session's other commands listen */
    struct netns_sockets sockets;
    int proxies[GATE_PROXIES];          /* more listeners for HTTP and SOCKS, */
    size_t nproxies;                    /* as many */
    const struct gate_packets *packets; /* NULL: there are only proxies (packets.h) */
    struct gate_port published[GATE_PUBLISHED];
    const struct secrets *secrets;   /* credentials to insert, or NULL */
    const struct handling *handling; /* of what is allowed, or NULL */
    struct tls_helper *tls;   /* for connections whose requests are checked; the gate frees it */
    const char *no_tls;       /* why there is none, if the policy needed it at the start */
    const char *token;        /* the password of the proxies, or NULL */
    struct gate_users *users; /* whose gates get all connections (hand-over.h), or NULL */
    bool takes;               /* connections that another gate hands over, here: */
    int handed;
    const struct parent_proxies *parents; /* or NULL */
    bool portable;                        /* wait with poll() (loop.h) */
    bool late_names; /* resolve denied names too, and refuse the connections instead */
    void (*on_denial)(void *arg, const struct gate_denial *d);
    bool tells_hosts; /* calls it for the first connection to each allowed host as well */
    /* Called if the policy neither allows nor denies the host by name. Answers arrive as struct
     * consent_reply on the descriptor answers, -1 if there is no one to ask. */
    void (*on_question)(void *arg, const struct gate_question *q);
    int answers;
    uint32_t ask_ms; /* time limit for an answer */
    bool publishes;  /* the host may call servers of the command beyond `published` */
    /* A server of the command listens at this port, and the host's port is not free. */
    void (*on_taken)(void *arg, uint16_t port, int err);
    bool (*serves)(void *arg, uint16_t port); /* whether the command still listens there */
    void *arg;
    int until; /* the gate stops when this descriptor reaches its end */
    /* Called when until is readable. Returns false at its end. May set *policy to the graph that
     * applies from now on; the caller owns it. NULL: nothing is ever sent. */
    bool (*on_word)(void *arg, const struct graph **policy);
};

/* Runs until then and closes the sockets. Returns 0 or a negative errno. */
int gate_run(const struct gate_options *o);

#endif
