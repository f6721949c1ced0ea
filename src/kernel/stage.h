/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_STAGE_H
#define BK_KERNEL_STAGE_H

#include <linux/filter.h>
#include <signal.h>
#include <sys/types.h>

#include "kernel/launch.h"

/* What controller and worker share. Messages from the worker, one write each. */
enum status_kind { STATUS_FAILED, STATUS_STARTED, STATUS_STOPPED, STATUS_EXITED };

struct status_msg {
    int32_t kind;  /* enum status_kind */
    int32_t stage; /* FAILED */
    int32_t value; /* FAILED: errno; STARTED: the command's pid; STOPPED, EXITED: wait status */
};

enum { FILTER_MAX = 4096 };

struct stage {
    const struct launch *launch;
    const struct plan *plan;
    pid_t controller;
    uid_t uid;
    gid_t gid;
    int status;    /* pipe to the controller */
    int events;    /* socket to the controller */
    sigset_t mask; /* the caller's, for the command */
    struct sock_filter filter[FILTER_MAX];
    size_t nfilter;
};

/* The worker's whole life, in its own process; never returns. */
void worker_main(struct stage *s) __attribute__((noreturn));

/* init.c: makes the pid namespace's first process. *pid is its number out here. 0 or a negated
 * errno with *stage set. The namespace's fresh /proc is mounted when this returns. */
int init_start(pid_t *pid, enum launch_stage *stage);

/* keeper.c: what stands in for a pid namespace. What it tells the worker: */
enum kept_kind { KEPT_COMMAND, KEPT_STOPPED, KEPT_EXITED };

struct kept {
    int32_t kind;  /* enum kept_kind */
    int32_t value; /* COMMAND: its pid; else a wait status */
};

enum { KEEPER_ORPHANED = SIGUSR2 }; /* how it hears of the worker's death */

/* Its life after it started the command; all signals are blocked. */
void keeper_main(pid_t command, int proc, bool wait_all, int to) __attribute__((noreturn));

#endif
