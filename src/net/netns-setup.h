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

enum lay_socket {
    LAY_TCP4, /* everything that is not loopback, whatever its port */
    LAY_TCP6,
    LAY_DNS4, /* datagrams to port 53 anywhere */
    LAY_DNS6,
    LAY_DNS_TCP4, /* connections to port 53 anywhere */
    LAY_DNS_TCP6,
    LAY_HTTP, /* the proxies, on loopback */
    LAY_SOCKS,
    /* Datagrams to anywhere else, and the ways back: raw, since an answer comes from the address
     * and port that the command wrote to. -1 where the kernel has no way to hand packets over with
     * their destination; datagrams are refused then. */
    LAY_UDP4,
    LAY_UDP6,
    LAY_BACK4,
    LAY_BACK6,
    LAY_ICMP4, /* for refusals */
    LAY_ICMP6,
    /* Where packets lead here at single ports only: what meets nobody and is refused by the kernel,
     * overheard by raw sockets. Datagrams, and the first packets of connections. */
    LAY_REFUSED_UDP4,
    LAY_REFUSED_UDP6,
    LAY_REFUSED_TCP4,
    LAY_REFUSED_TCP6,
    LAY_SOCKETS,
};

/* Where the proxies listen unless the policy opens that very port of the host; programs find them
 * in their environment. */
enum { LAY_HTTP_PORT = 3128, LAY_SOCKS_PORT = 1080 };

/* Whom the sandbox's resolver asks: any address but our own would do where packets are redirected,
 * since questions to port 53 arrive at the stub then wherever they go. */
#define LAY_RESOLVER "198.19.255.53"

enum { LAY_LOCAL = 16, LAY_INSIDE = 64, LAY_FAMILIES = 2, LAY_PORTS = 40, LAY_BACKLOG = 4096 };

/* Ports of loopback that lead to the host's instead of the sandbox's own. -1: not this kind */
enum lay_local { LAY_LOCAL_TCP4, LAY_LOCAL_TCP6, LAY_LOCAL_UDP4, LAY_LOCAL_UDP6, LAY_LOCAL_KINDS };

struct laid_port {
    uint16_t port; /* 0: no more */
    int fds[LAY_LOCAL_KINDS];
};

/* The usual port of a proxy, or the next that is not one of these. */
uint16_t lay_proxy_port(uint16_t usual, const struct local_port *local, size_t n);

struct laid_network {
    /* Packets arrive as they were sent: an accepted socket's own end is where it wanted to go. Else
     * they were redirected, and the kernel remembers that. */
    bool handed_over;
    int fds[LAY_SOCKETS]; /* -1 where the kernel has no IPv6 */
    struct laid_port local[LAY_LOCAL];
    /* IPv4 and IPv6: unconnected, for connections to the command's servers; -1: no more */
    int inside[LAY_FAMILIES][LAY_INSIDE];
    /* Where packets cannot be redirected, instead of LAY_TCP4 and LAY_TCP6: listeners for both
     * families at the ports that were wished for, and some sockets for ports that rules name later;
     * -1: none */
    int ports[LAY_PORTS];
};

/* No descriptor, and no port. */
static inline void lay_none(struct laid_network *net)
{
    memset(net, 0xff, sizeof(*net));
    net->handed_over = false;
    for (size_t i = 0; i < LAY_LOCAL; i++)
        net->local[i].port = 0;
}

/* What else it is to have. */
struct lay_wishes {
    const struct local_port *local; /* at most LAY_LOCAL are looked at */
    size_t nlocal;
    bool inside;
    const uint16_t *ports; /* to listen on where packets cannot be redirected */
    size_t nports;
    bool no_rules;     /* does not try to redirect them, */
    bool no_hand_over; /* nor to hand packets over */
};

/* Without a network of its own: what the command connects to, on the host's loopback. */
struct lay_ports {
    uint16_t tcp, http, socks;
};
int lay_loopback(struct laid_network *out, struct lay_ports *ports);

/* 0 or a negated errno; on failure nothing is left open. */
int lay_network(const struct lay_wishes *wishes, struct laid_network *out);
void lay_close(struct laid_network *net);
/* Every descriptor's place, in one order; how many. */
enum {
    LAY_PLACES = LAY_SOCKETS + LAY_LOCAL * LAY_LOCAL_KINDS + LAY_FAMILIES * LAY_INSIDE + LAY_PORTS
};
size_t lay_places(struct laid_network *net, int *places[LAY_PLACES]);

/* Whether an address is the sandbox's own, loopback or not, and stands for nobody outside. */
bool lay_is_inside(const uint8_t addr[16]);

/* At every address, of both families for IPv6's; 0 or a negated errno. */
int lay_bind_everywhere(int fd, bool v6, uint16_t port);

/* A socket that listens on loopback, wherever the caller is; or a negated errno. */
int lay_listen(int family, int type, uint16_t port);

#endif
