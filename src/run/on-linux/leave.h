/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LEAVE_H
#define BK_RUN_LEAVE_H

#include <signal.h>

#include "graph/graph.h"
#include "kernel/launch/launch.h"

/* Whether a policy says nothing about processes: each can see and signal every other. */
bool leave_is_open(const struct graph *g);

/*
 * A launch in a process of its own, which stays as long as a process of the sandbox
 * does. The caller gets the command's end as soon as the command ends. start() launches in
 * that process, with l->on_exit set.
 */
int leave_run(struct launch *l, int (*start)(void *arg, struct launch_end *end, struct bk_err *err),
              void *arg, struct launch_end *end, struct bk_err *err);

/* For a process that waits for its child and takes signals for it. The signals to block and to read
 * from a signalfd: */
void leave_signals(sigset_t *mask);
/* Reads and passes them on. Stops and goes on with the child. status: how that ended. */
enum leave_news { LEAVE_NOTHING, LEAVE_SIGNALLED, LEAVE_ENDED };
enum leave_news leave_pass_on(int signals, pid_t child, int *status);

#endif
