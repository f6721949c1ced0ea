/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_GATE_MAIN_H
#define BK_KERNEL_GATE_GATE_MAIN_H

#include <sys/types.h>

#include "kernel/shared/setup.h"
#include "net/gate.h"

/*
 * The process that runs the gate (net/gate.h): outside the sandbox's network, with the policy and
 * the sockets that were opened inside. The judge starts it while both are still in the caller's
 * namespaces, and hands over the sockets once the sandbox's network is laid.
 */
struct gate_process {
    int to;                               /* socket to it; it ends when this does */
    char token[33];                       /* what the proxies' clients have to know */
    struct local_port local[NETNS_LOCAL]; /* of the host's loopback, once the network is laid */
    size_t nlocal;
    struct gate_port published[GATE_PUBLISHED];
    size_t npublished;
    struct netns_ports ports; /* where there is no network of its own */
    int announces;            /* then: socket for announcements */
};

/* Called outside, before the gate starts: listens on those ports of this machine that lead to the
 * command's servers. Where somebody listens already, and the command may call him, the port leads
 * the other way. */
int gate_process_publish(struct gate_process *n, const struct plan *p);

/* 0, or a negated errno. */
int gate_process_start(struct gate_process *n, const struct setup *s);
/* What the new network is to have; once the ports are published. Points into *n. */
struct netns_wishes gate_process_wishes(struct gate_process *n, const struct plan *p);
/* The sockets of the network, which is laid; they are closed here. */
int gate_process_hand_over(const struct gate_process *n, struct netns_sockets *net);
/* Called instead where there is none: listens on loopback. */
int gate_process_listen(struct gate_process *n);
/* Then: a connection from this port of loopback to ports.tcp was meant to go there. */
int gate_process_announce(const struct gate_process *n, uint16_t client, const uint8_t addr[16],
                          uint16_t port);
/* The caller's environment and the variables that lead to the proxies, but for those that lead to a
 * port of the host's that is open; NULL without memory. */
char **gate_process_environ(const struct gate_process *n, const struct setup *s);

/* Gives up, in the gate's process, what it does not need. caps: what the command keeps, so that it
 * can be told which process asked. */
int gate_process_confine(uint64_t caps, bool at_ports);

#endif
