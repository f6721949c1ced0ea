/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_NETNS_SETUP_H
#define BK_NET_NETNS_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/rules.h"

/*
 * A network in which every road leads to us. Called once inside a new network namespace whose
 * loopback interface is up, by somebody who may configure it: every address becomes the host's own,
 * and what is sent anywhere but to loopback arrives at listeners that are made here. They are
 * handed to the gate, which lives outside and dials in the command's stead.
 */

enum netns_socket {
    NETNS_TCP4, /* everything that is not loopback, whatever its port */
    NETNS_TCP6,
    NETNS_DNS4, /* datagrams to port 53 anywhere */
    NETNS_DNS6,
    NETNS_DNS_TCP4, /* connections to port 53 anywhere */
    NETNS_DNS_TCP6,
    NETNS_HTTP, /* the proxies, on loopback */
    NETNS_SOCKS,
    /* Datagrams to anywhere else, and the ways back: raw, since an answer comes from the address
     * and port that the command wrote to. -1 where the kernel has no way to hand packets over with
     * their destination; datagrams are refused then. */
    NETNS_UDP4,
    NETNS_UDP6,
    NETNS_BACK4,
    NETNS_BACK6,
    NETNS_ICMP4, /* for refusals */
    NETNS_ICMP6,
    /* Where packets lead here at single ports only: what meets nobody and is refused by the kernel,
     * overheard by raw sockets. Datagrams, and the first packets of connections. */
    NETNS_REFUSED_UDP4,
    NETNS_REFUSED_UDP6,
    NETNS_REFUSED_TCP4,
    NETNS_REFUSED_TCP6,
    NETNS_SOCKETS,
};

/* Where the proxies listen unless the policy opens that very port of the host; programs find them
 * in their environment. */
enum { NETNS_HTTP_PORT = 3128, NETNS_SOCKS_PORT = 1080 };

/* Whom the sandbox's resolver asks: any address but our own would do where packets are redirected,
 * since questions to port 53 arrive at the stub then wherever they go. */
#define NETNS_RESOLVER "198.19.255.53"

enum {
    NETNS_LOCAL = 16,
    NETNS_INSIDE = 64,
    NETNS_FAMILIES = 2,
    NETNS_PORTS = 40,
    NETNS_BACKLOG = 4096
};

/* Ports of loopback that lead to the host's instead of the sandbox's own. -1: not this kind */
enum netns_local {
    NETNS_LOCAL_TCP4,
    NETNS_LOCAL_TCP6,
    NETNS_LOCAL_UDP4,
    NETNS_LOCAL_UDP6,
    NETNS_LOCAL_KINDS
};

struct netns_port {
    uint16_t port; /* 0: no more */
    int fds[NETNS_LOCAL_KINDS];
};

/* The usual port of a proxy, or the next that is not one of these. */
uint16_t netns_proxy_port(uint16_t usual, const struct local_port *local, size_t n);

struct netns_sockets {
    /* Packets arrive as they were sent: an accepted socket's own end is where it wanted to go. Else
     * they were redirected, and the kernel remembers that. */
    bool handed_over;
    int fds[NETNS_SOCKETS]; /* -1 where the kernel has no IPv6 */
    struct netns_port local[NETNS_LOCAL];
    /* IPv4 and IPv6: unconnected, for connections to the command's servers; -1: no more */
    int inside[NETNS_FAMILIES][NETNS_INSIDE];
    /* Where packets cannot be redirected, instead of NETNS_TCP4 and NETNS_TCP6: listeners for both
     * families at the ports that were wished for, and some sockets for ports that rules name later;
     * -1: none */
    int ports[NETNS_PORTS];
};

/* No descriptor, and no port. */
static inline void netns_none(struct netns_sockets *net)
{
    memset(net, 0xff, sizeof(*net));
    net->handed_over = false;
    for (size_t i = 0; i < NETNS_LOCAL; i++)
        net->local[i].port = 0;
}

/* What else it is to have. */
struct netns_wishes {
    const struct local_port *local; /* at most NETNS_LOCAL are looked at */
    size_t nlocal;
    bool inside;
    const uint16_t *ports; /* to listen on where packets cannot be redirected */
    size_t nports;
    bool no_rules;     /* does not try to redirect them, */
    bool no_hand_over; /* nor to hand packets over */
};

/* Without a network of its own: what the command connects to, on the host's loopback. */
struct netns_ports {
    uint16_t tcp, http, socks;
};
int netns_loopback(struct netns_sockets *out, struct netns_ports *ports);

/* 0 or a negated errno; on failure nothing is left open. */
int netns_network(const struct netns_wishes *wishes, struct netns_sockets *out);
void netns_close(struct netns_sockets *net);
/* Every descriptor's place, in one order; how many. */
enum {
    NETNS_PLACES = NETNS_SOCKETS + NETNS_LOCAL * NETNS_LOCAL_KINDS + NETNS_FAMILIES * NETNS_INSIDE +
                   NETNS_PORTS
};
size_t netns_places(struct netns_sockets *net, int *places[NETNS_PLACES]);

/* Whether an address is the sandbox's own, loopback or not, and stands for nobody outside. */
bool netns_is_inside(const uint8_t addr[16]);

/* At every address, of both families for IPv6's; 0 or a negated errno. */
int netns_bind_everywhere(int fd, bool v6, uint16_t port);

/* A socket that listens on loopback, wherever the caller is; or a negated errno. */
int netns_listen(int family, int type, uint16_t port);

#endif
