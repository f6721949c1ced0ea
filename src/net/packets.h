/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PACKETS_H
#define BK_NET_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct conn;
struct flow_key;
struct gate;
struct listener;

/*
 * What the gate does with packets that reach it without a proxy: their network leads here
 * (netns-setup.h). A system whose programs only use the proxies has none of it.
 */
struct gate_packets {
    /* a connection's original destination: c->host, c->port. as_sent: it is the socket's address */
    bool (*destination)(struct conn *c, bool as_sent, bool v6);
    void (*datagrams)(struct gate *g, int fd);
    void (*local)(const struct listener *l);       /* to a port of the host's loopback */
    void (*answered)(struct gate *g, uint32_t id); /* resumes flows that wait for the answer */
    void (*sweep)(struct gate *g);                 /* ends silent flows */
    void (*end)(struct gate *g);
    void (*refused)(const struct listener *l); /* what the kernel has refused */
    ssize_t (*receive)(int fd, void *data, size_t cap, struct flow_key *k);
    void (*answer)(const struct gate *g, const struct flow_key *k, const void *data, size_t n);
};

extern const struct gate_packets gate_packets; /* on Linux */

#endif
