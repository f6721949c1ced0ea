/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_GATE_MAIN_H
#define BK_KERNEL_GATE_GATE_MAIN_H

#include <sys/types.h>

#include "base/buf.h"
#include "kernel/shared/setup.h"
#include "net/gate.h"

/*
 * The process that runs the gate (net/gate.h): outside the sandbox's network, with the policy and
 * the sockets that were opened inside. The judge starts it while both are still in the caller's
 * namespaces, and hands over the sockets once the sandbox's network is set up.
 */
struct gate_process {
    int to;                               /* socket to it; it exits when this closes */
    char token[33];                       /* what the proxies' clients need */
    struct local_port local[NETNS_LOCAL]; /* of the host's loopback, once the network is set up */
    size_t nlocal;
    struct gate_port published[GATE_PUBLISHED];
    size_t npublished;
    bool publishes;    /* more ports, as the command's servers start */
    bool reports_late; /* why clients left, perhaps only once the command has ended */
    struct {
        uint16_t port;
        int err;             /* a positive errno */
    } taken[GATE_PUBLISHED]; /* ports where the host's side could not listen */
    size_t ntaken;
    pid_t pid;
    struct netns_ports ports;      /* without a network namespace */
    int announces;                 /* socket for announcements, or -1 */
    struct link_ports *link_ports; /* in a session; else NULL */
};

/* Listens on the ports of this machine that lead to the command's servers. Call it outside the
 * sandbox, before the gate starts. If another server listens there already and the command may call
 * it, the port leads the other way. Any other port that cannot be had is left out and reported: the
 * command's own servers do not depend on it. */
void gate_process_publish(struct gate_process *n, const struct plan *p);
/* When the command has ended: before anybody learns of the end, the gate reports what is left and
 * frees the ports of this machine. */
void gate_process_end(struct gate_process *n);

/* The gate takes the credentials over: the caller has none of them afterwards. Returns 0 or a
 * negative errno. */
int gate_process_start(struct gate_process *n, const struct setup *s);
/* What the new network needs, once the ports are published. Points into *n. */
struct netns_wishes gate_process_wishes(struct gate_process *n, const struct plan *p);
/* Hands over the sockets of the finished network and closes them here. */
int gate_process_hand_over(const struct gate_process *n, struct netns_sockets *net);
/* Waits for the certificate of the run's authority, and appends it as PEM; nothing if the gate
 * decrypts nothing. */
struct handling;
int gate_process_authority(const struct gate_process *n, const struct graph *g,
                           const struct handling *with, struct buf *pem);
/* Without a network namespace: listens on loopback instead. */
int gate_process_listen(struct gate_process *n);
/* Announces that a connection from this loopback port to ports.tcp, or inside to NETNS_LOOP_PORT,
 * was meant for that address. peer: for a server of another command of the session. */
int gate_process_announce(const struct gate_process *n, uint16_t client, const uint8_t addr[16],
                          uint16_t port, bool peer);
/* Announces that a process inside listens at this port. */
void gate_process_announce_server(const struct gate_process *n, uint16_t port);
/* Returns the caller's environment with the variables that lead to the proxies. Variables that lead
 * to an open port of the host stay. Returns NULL without memory. */
char **gate_process_environ(const struct gate_process *n, const struct setup *s);

/* What a report says about a denied host: its name and port, and why. */
enum { GATE_WHAT = PEER_TEXT + 400 };
void gate_process_describe(const struct gate_denial *d, char what[GATE_WHAT]);

/* Gives up, in the gate's process, what it does not need. caps: what the command keeps, so that the
 * gate can find the process that connects. */
int gate_process_confine(uint64_t caps, bool at_ports);

#endif
