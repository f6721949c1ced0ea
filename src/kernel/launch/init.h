/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_INIT_H
#define BK_KERNEL_LAUNCH_INIT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kernel/host/host.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/launch.h"
#include "kernel/launch/layers.h"
#include "net/netns-setup.h"

/*
 * Init is PID 1 of a sandbox: it holds the namespaces, with everything mounted. It does not depend
 * on the policy, so the launch starts it while the profile is still being compiled. A launch that
 * does not need part of it ignores that part.
 *
 * It works in three parts and announces each, because the network takes longer than all the rest,
 * and a process that waits for one part need not wait for the next. The policy decides whether
 * there is a fourth part, the way to the gate. Once that is known the judge gives the order, and
 * starts the other processes meanwhile.
 */
struct init {
    pid_t pid;      /* as seen outside; 0: none */
    int pidfd;      /* of init, for the judge to join */
    int ready;      /* socket on which init announces the parts */
    int mounts;     /* pipe with the host's mounts; -1: none */
    bool net_ns;    /* will have its own network namespace */
    bool reads;     /* set before init_start() */
    bool devices;   /* likewise: most policies like this one leave most devices open */
    int below;      /* pidfd of an init whose pid namespace it will be below; 0: ours */
    unsigned depth; /* of that namespace below ours */
};

/* Starts init as far as the host permits. cwd: a folder that must stay visible. layers:
 * LAYERS_PREPARED folders to prepare layers for, or NULL. With g->reads set, init first reads what
 * is mounted here into g->mounts (host-mounts.h), which takes as long as many other things
 * together. */
void init_start(struct init *g, const struct host *h, const char *cwd, const char *const *layers);

/* Passes init from the controller to the judge, which calls the functions below. The judge gets *g;
 * its `ready` is -1 if there is none. */
int init_send(const struct init *g, int to);
int init_receive(struct init *g, int from);

/* Orders what the network leads to; NULL: nowhere. Call it once, at any time, if init has a
 * network: init waits for it. */
void init_order(const struct init *g, const struct netns_wishes *wishes);

/* Call these in this order, from one process only. Each waits and returns a negative errno with the
 * step that failed. They allocate nothing. */
/* user, pid, mounts; trees: the prepared layers, or -1; devices: as init found them */
int init_wait_mounts(const struct init *g, enum launch_step *step, int trees[LAYERS_PREPARED],
                     struct devices_list *devices);
int init_take_network(const struct init *g,
                      enum launch_step *step); /* returns its file descriptor */
int init_wait_loopback(const struct init *g, enum launch_step *step);
/* If it was ordered; the caller closes it. */
int init_take_gate_sockets(const struct init *g, struct netns_sockets *out, enum launch_step *step);

/* Enters these namespaces of init, including its mounts. proc: a procfs in which init has this pid.
 */
int init_enter(int pidfd, pid_t init, int proc, int flags);

/* The signal by which the controller makes init stop every other process. Nobody sends it to a
 * whole process group for other reasons. */
enum { INIT_STOP_ALL = SIGPWR };

/* Kills init and with it every process of its namespace, and waits until they are gone. */
void init_end(struct init *g);

#endif
