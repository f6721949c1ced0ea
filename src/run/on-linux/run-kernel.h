/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LINUX_RUN_KERNEL_H
#define BK_RUN_LINUX_RUN_KERNEL_H

#include "kernel/host/mounts.h"
#include "kernel/launch/cgroup.h"
#include "kernel/launch/init.h"
#include "kernel/launch/launch.h"
#include "run/on-linux/kept-layers.h"
#include "run/on-linux/kept-links.h"
#include "run/run.h"

/* Sandboxes inside this one (nest.h). */
enum { NESTS = 32, NEST_DEPTH = 12 };

struct nests {
    int poll; /* 0: none yet */
    size_t n;
    struct nest {
        pid_t pid; /* of its controller */
        int relay; /* from it */
        int asker; /* pidfd of the process that asked for it */
    } list[NESTS];
};

/* What a run has on Linux besides struct run. */
struct run_kernel {
    struct host host, first;   /* first: before a launch found anything missing */
    struct mounts_view mounts; /* at the start */
    int mounts_watch;          /* for run_mounts_unchanged(), or -1 */
    bool mounts_compared;      /* since it is open */
    uint64_t adopted_ms;       /* run_adopt_folders() */
    bool mounts_changed;       /* since then */
    struct input_watch *watch; /* on all that a spare depends on, or NULL */
    struct plan_options options;
    struct plan plan;
    const struct plan *outer; /* of the sandbox around this one, or NULL */
    struct cgroup cgroup;
    struct kept_layers kept;
    struct kept_links *links; /* to keep, or NULL */
    struct kept_large large;
    struct kept_seen seen; /* by runs like this one */
    struct init init;
    struct launch launch; /* as it is, or was, performed */
    int channel;          /* to the controller of the sandbox that this run is in; -1: in none */
    struct nests nests;   /* inside this one */
    unsigned depth;       /* of this one: 0 is not inside another */
    struct run *around;   /* the run that this one is inside, or NULL */
    const struct graph *inner; /* if so: its own policy, without the outer one */
    uint32_t outer_number;     /* and the number of the outermost policy that it began with */
};

void run_kernel_init(struct run_kernel *k);

/* Only compiles and plans. */
int run_plan(struct run *r, struct bk_err *err);

/* Reads what is mounted twice at this moment, and where upper and lower case are the same. */
int run_mounts(struct mounts_view *mounts, const struct run_spec *spec, struct bk_err *err);

/* spare.c: whether they are what they were when they were compared before. */
bool run_mounts_unchanged(struct run *r);

/* update.c: compiles what run_update() sent; called in the processes that enforce it. */
struct graph *run_recompile(void *arg, const void *bytes, size_t n);

#endif
