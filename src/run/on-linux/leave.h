/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LEAVE_H
#define BK_RUN_LEAVE_H

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

#endif
