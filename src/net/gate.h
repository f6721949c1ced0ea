/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_H
#define BK_NET_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"
#include "graph/peer.h"
#include "net/netns-setup.h"
#include "net/upstream.h"

/*
 * The gate: everything that the sandbox sends out arrives here, is asked about by name, and goes on
 * from here or nowhere. It lives outside the sandbox's network, in a process of its own, which has
 * nothing but the sockets it was given.
 *
 *   transparent   the name is known from the address that the stub resolver gave out for it
 *   HTTP proxy    the name is in the request
 *   SOCKS proxy   the name is in the request
 *
 * In each case what the client then says of itself (a TLS hello's name, a Host field) has to agree.
 */

/* The client's end of a connection, inside; port 0 when it is not known. */
struct gate_client {
    uint8_t addr[16];
    uint16_t port;
};

/* Something was not let through. */
struct gate_denial {
    const struct peer *host;
    uint16_t port; /* 0: only its name was looked up */
    bool udp;
    struct graph_verdict verdict;
    const char *why; /* beyond the rule: "127.0.0.1 is loopback"; or NULL */
    struct gate_client client;
};

/* Something is to be let through if somebody says so. */
struct gate_question {
    uint32_t id;
    bool withdrawn; /* nobody waits for its answer any more; nothing else is set then */
    const struct peer *host;
    uint16_t port;
    bool udp;
    uint32_t wait_ms;
    struct gate_client client;
};

/* Listeners on the host's loopback that lead to the command's servers. */
enum { GATE_PUBLISHED = 16, GATE_FAMILIES = 2 };

struct gate_port {
    uint16_t port;          /* 0: no more */
    int fds[GATE_FAMILIES]; /* IPv4, IPv6; or -1 */
};

/* Where a connection to NETNS_TCP4 was meant to go. */
struct gate_announcement {
    uint16_t client; /* its own port, on loopback */
    uint16_t port;
    uint8_t addr[16];
};

struct gate_options {
    const struct graph *graph;
    /* Without a network that leads here: connections are announced, one in a message from this
     * socket, soon after or before they come. Else their destinations are those of the packets. */
    bool announced;
    int announcements;
    struct netns_sockets sockets;
    struct gate_port published[GATE_PUBLISHED];
    const char *token;               /* what proxies' clients have to know, or NULL */
    const struct upstream *upstream; /* through which connections leave, or NULL */
    bool portable;                   /* waits with what every system has (loop.h) */
    bool late_names; /* answer for denied names too, and refuse connections to them */
    void (*on_denial)(void *arg, const struct gate_denial *d);
    /* Called for what the policy neither allows nor denies by name; answers come, as struct
     * consent_reply, from a descriptor, which is -1 when nobody is to be asked. */
    void (*on_question)(void *arg, const struct gate_question *q);
    int answers;
    uint32_t ask_ms; /* that an answer is waited for */
    void *arg;
    int until; /* a descriptor: the gate closes when it ends */
    /* Called when there is something to be read there: false when that is its end. *policy: a graph
     * to go by from now on, which stays the caller's; untouched when there is none. NULL: nothing
     * is ever written there. */
    bool (*on_word)(void *arg, const struct graph **policy);
};

/* Runs until then; 0 or a negated errno. The sockets are closed. */
int gate_run(const struct gate_options *o);

#endif
