/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_SETUP_H
#define BK_KERNEL_JUDGE_JUDGE_SETUP_H

#include "kernel/gate/gate-main.h"
#include "kernel/judge/handle-socket.h"
#include "kernel/launch/layers.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/setup.h"

/* The judge's phases before it judges (judge-setup.c), used by judge-main.c only. */

/* The judge's process. */
struct judge_process {
    struct setup *s;
    int proc, null; /* the host's /proc; /dev/null */
    int record;     /* of own folders, or -1 */
    struct command c;
    struct gate_process gate;
    struct host_servers host; /* if connections to loopback may lead to this machine's servers */
    struct guarded_paths *guarded;
    struct layers *layers;
    int bare; /* if names are searched for: a mount namespace without sentries, and */
    int root; /* the sandbox's own root */
    pid_t command;
    int mounts;   /* mountinfo of the sandbox */
    int outer;    /* mountinfo of the outside; -1: the same */
    int reaper;   /* socket to the reaper, or -1 */
    int children; /* lists the children of init, or -1 */
    int listener;
    bool ended;      /* the command has exited; other processes may remain */
    bool unfinished; /* work remains for when they are gone, too */
    bool ready;      /* the judge can answer calls */
};

/* Reports to the controller through the status pipe. */
void judge_report_status(const struct setup *s, enum status_kind kind, int step, int value);
/* Reports that a step failed, and exits; the controller kills the other processes. */
void judge_fail(const struct setup *s, enum launch_step step, int err) __attribute__((noreturn));
/* Does so if err is negative. */
void judge_check(const struct setup *s, enum launch_step step, int err);

/* Each phase exits on failure. */
void judge_phase_unconfined(struct judge_process *in);
void judge_phase_walled(struct judge_process *in);
/* Leaves the sandbox's mount namespace, but not its root: paths mean the same, and names on which a
 * sentry is can be removed and moved. Call it when the command has started. */
int judge_leave_sentries(const struct judge_process *in);
/* Receives what the sentry found behind each sentry. */
void judge_take_guarded(const struct judge_process *in);

#endif
