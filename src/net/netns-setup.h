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
 * Sets up a network namespace in which every packet leads to the gate. A process with CAP_NET_ADMIN
 * calls it once inside the new namespace, when loopback is up. Every address becomes local, and
 * everything except loopback traffic arrives at listeners that are opened here. The caller passes
 * them to the gate, which runs outside and connects on the command's behalf.
 */

enum netns_socket {
    NETNS_TCP4, /* connections to any address except loopback, on any port */
    NETNS_TCP6,
    NETNS_DNS4, /* datagrams to port 53 of any address */
    NETNS_DNS6,
    NETNS_DNS_TCP4, /* connections to port 53 of any address */
    NETNS_DNS_TCP6,
    NETNS_HTTP, /* the proxies, on loopback */
    NETNS_SOCKS,
    /* Datagrams to all other destinations, and raw sockets for the replies, which must come from
     * the address and port that the command sent to. -1 if the kernel can't hand packets over with
     * their destination; it then refuses datagrams. */
    NETNS_UDP4,
    NETNS_UDP6,
    NETNS_BACK4,
    NETNS_BACK6,
    NETNS_ICMP4, /* for refusals */
    NETNS_ICMP6,
    /* Without packet rules: raw sockets that observe what the kernel refuses, datagrams and first
     * packets of connections. */
    NETNS_REFUSED_UDP4,
    NETNS_REFUSED_UDP6,
    NETNS_REFUSED_TCP4,
    NETNS_REFUSED_TCP6,
    /* On loopback: connections that the judge leads to the host's loopback, and announces. */
    NETNS_LOOP4,
    NETNS_LOOP6,
    NETNS_SOCKETS,
};

/* Ports of the proxies, unless the policy opens the same port of the host. Programs find them in
 * their environment. */
enum { NETNS_HTTP_PORT = 3128, NETNS_SOCKS_PORT = 1080 };
/* Where NETNS_LOOP4 and NETNS_LOOP6 listen. */
enum { NETNS_LOOP_PORT = 64057 };

/* The resolver's address in the sandbox. Any address but our own works if packets are redirected,
 * because all questions to port 53 reach the stub. */
#define NETNS_RESOLVER "198.19.255.53"

enum {
    NETNS_LOCAL = 16,
    NETNS_INSIDE = 60,
    NETNS_FAMILIES = 2,
    NETNS_PORTS = 40,
    NETNS_BACKLOG = 4096
};

/* Loopback ports that lead to the host's loopback. -1: not this kind */
enum netns_local {
    NETNS_LOCAL_TCP4,
    NETNS_LOCAL_TCP6,
    NETNS_LOCAL_UDP4,
    NETNS_LOCAL_UDP6,
    NETNS_LOCAL_KINDS
};

struct netns_port {
    uint16_t port; /* 0: end of the list */
    int fds[NETNS_LOCAL_KINDS];
};

/* Returns the usual port of a proxy, or the next one that is not in the list. */
uint16_t netns_proxy_port(uint16_t usual, const struct local_port *local, size_t n);

struct netns_sockets {
    /* Packets arrive with their destination: an accepted socket's local address. Otherwise they
     * were redirected, and the kernel has the destination. */
    bool handed_over;
    int fds[NETNS_SOCKETS]; /* -1 for IPv6 if the kernel has none */
    struct netns_port local[NETNS_LOCAL];
    /* IPv4 and IPv6: unconnected sockets for connections to the command's servers; -1: end of the
     * list */
    int inside[NETNS_FAMILIES][NETNS_INSIDE];
    /* Without packet rules, instead of NETNS_TCP4 and NETNS_TCP6: listeners for both families at
     * the requested ports, and some spare sockets for ports that a later policy names; -1: none */
    int ports[NETNS_PORTS];
};

/* Sets all descriptors to -1 and all ports to 0. */
static inline void netns_none(struct netns_sockets *net)
{
    memset(net, 0xff, sizeof(*net));
    net->handed_over = false;
    for (size_t i = 0; i < NETNS_LOCAL; i++)
        net->local[i].port = 0;
}

/* What the network should have. */
struct netns_wishes {
    const struct local_port *local; /* at most NETNS_LOCAL are used */
    size_t nlocal;
    bool inside;
    bool loop;             /* connections to loopback may lead to the host's */
    const uint16_t *ports; /* to listen on without packet rules */
    size_t nports;
    bool no_rules;     /* don't try packet rules */
    bool no_hand_over; /* don't try to hand packets over */
};

/* Ports on the host's loopback, for a command without a network namespace. */
struct netns_ports {
    uint16_t tcp, http, socks;
};
int netns_loopback(struct netns_sockets *out, struct netns_ports *ports);

/* Returns 0 or a negative errno. On failure nothing is left open. */
int netns_network(const struct netns_wishes *wishes, struct netns_sockets *out);
void netns_close(struct netns_sockets *net);
/* Lists the locations of all descriptors in a fixed order. Returns how many. */
enum {
    NETNS_PLACES = NETNS_SOCKETS + NETNS_LOCAL * NETNS_LOCAL_KINDS + NETNS_FAMILIES * NETNS_INSIDE +
                   NETNS_PORTS
};
size_t netns_places(struct netns_sockets *net, int *places[NETNS_PLACES]);

/* Whether an address belongs to the sandbox itself and not to a host outside. */
bool netns_is_inside(const uint8_t addr[16]);

/* Binds to all addresses, of both families if v6. Returns 0 or a negative errno. */
int netns_bind_everywhere(int fd, bool v6, uint16_t port);

/* Opens a listener on loopback in the caller's namespace. Returns a negative errno on failure. */
int netns_listen(int family, int type, uint16_t port);

/* The sandbox's own addresses. Lookups with AI_ADDRCONFIG need one per family besides loopback. */
static const uint8_t netns_own_v4[4] = {198, 18, 0, 1};
static const uint8_t netns_own_v6[16] = {0xfd, 0x62, 0x75, 0x63, 0x6b, 0x6c, [15] = 1};

/* For a listener, before bind(). Returns -1 and sets errno. */
int netns_stream_options(int fd);

#endif
