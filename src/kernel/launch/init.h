/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_INIT_H
#define BK_KERNEL_LAUNCH_INIT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel/host/host.h"
#include "kernel/launch/launch.h"
#include "net/netns-setup.h"

/*
 * The ground a sandbox stands on: its namespaces with everything mounted, held by their first
 * process. It does not depend on the policy, so it is laid while the profile is still being
 * compiled. A launch that does not need part of it leaves that part alone.
 *
 * It is laid in three parts, each announced when it is done, because the network takes longer than
 * all the rest: what has to wait for one part need not wait for the next. Whether there is a
 * fourth, the roads to the gate, the policy says: once that is known the judge gives its order,
 * and has the other processes to start while it is carried out.
 */
struct init {
    pid_t pid;   /* as seen outside; 0 when there is none */
    int pidfd;   /* of it: what the judge joins */
    int ready;   /* socket on which the parts are announced */
    bool net_ns; /* will have a network of its own */
};

/* Starts laying it, in a process of its own, as far as the host can. cwd: what must stay visible.
 */
void init_start(struct init *g, const struct host *h, const char *cwd);

/* From the controller to the judge, which takes over what waits below; it gets *g, whose ready is
 * -1 when there is none. */
int init_send(const struct init *g, int to);
int init_receive(struct init *g, int from);

/* What the network is to lead to; NULL: nowhere. Given once on every ground that has a network, at
 * any time: its first process waits for it. */
void init_order(const struct init *g, const struct netns_wishes *wishes);

/* In this order, and by one process only; each waits, and answers a negated errno with the stage
 * that failed. They allocate nothing. */
int init_wait_mounts(const struct init *g, enum launch_step *step);  /* user, pid, mounts */
int init_take_network(const struct init *g, enum launch_step *step); /* its descriptor */
int init_wait_loopback(const struct init *g, enum launch_step *step);
/* If it was ordered; the caller closes it. */
int init_take_roads(const struct init *g, struct netns_sockets *out, enum launch_step *step);

/* Enters these namespaces of its first process, the mounts among them. proc: where that has the
 * number init. */
int init_enter(int pidfd, pid_t init, int proc, int flags);

/* What its first process hears from the controller: every other process is to stop. Nobody sends
 * this to a whole group of processes for reasons of his own. */
enum { GROUND_HOLD = SIGPWR };

/* Ends it and every process on it, and waits until they are gone. */
void init_end(struct init *g);

#endif
