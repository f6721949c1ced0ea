/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LAY_H
#define BK_NET_LAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
     * and port that the command wrote to. -1 where the kernel has no way to hand datagrams over
     * with their destination; they are refused then. */
    LAY_UDP4,
    LAY_UDP6,
    LAY_BACK4,
    LAY_BACK6,
    LAY_ICMP4, /* for refusals */
    LAY_ICMP6,
    LAY_SOCKETS,
};

/* Where the proxies listen unless the policy opens that very port of the host; programs find them
 * in their environment. */
enum { LAY_HTTP_PORT = 3128, LAY_SOCKS_PORT = 1080 };

enum { LAY_LOCAL = 16 };

/* The usual port of a proxy, or the next that is not one of these. */
uint16_t lay_proxy_port(uint16_t usual, const uint16_t *local_ports, size_t n);

struct laid_network {
    int fds[LAY_SOCKETS]; /* -1 where the kernel has no IPv6 */
    /* Ports of loopback that lead to the host's instead of the sandbox's own. */
    int local[LAY_LOCAL]; /* -1: no more */
    uint16_t local_ports[LAY_LOCAL];
};

/* 0 or a negated errno; on failure nothing is left open. */
int lay_network(const uint16_t *local_ports, size_t n, struct laid_network *out);
void lay_close(struct laid_network *net);

#endif
