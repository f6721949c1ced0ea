/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GROUND_H
#define BK_KERNEL_GROUND_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/host.h"
#include "kernel/launch.h"

/*
 * The ground a sandbox stands on: its namespaces with everything mounted, held by their first
 * process. It does not depend on the policy, so it is laid while the profile is still being
 * compiled. A launch that does not need part of it leaves that part alone.
 */
struct ground {
    pid_t init;  /* the first process, as seen out here; 0 when there is no ground */
    int pidfd;   /* of it: what the worker joins */
    int ready;   /* tells when it is done, or what failed */
    bool net_ns; /* has a network of its own */
};

/* Starts laying it, in a process of its own, as far as the host can. cwd: what must stay visible.
 */
void ground_start(struct ground *g, const struct host *h, const char *cwd);
/* Waits until it is laid: 0, or -1 with the stage and errno that failed. */
int ground_wait(struct ground *g, enum launch_stage *stage, int *sys);
/* Ends it and every process on it, and waits until they are gone. */
void ground_end(struct ground *g);

#endif
