/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_FOREGROUND_H
#define BK_KERNEL_JUDGE_FOREGROUND_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Who is behind a process group that holds a terminal. All of Buckle's processes and the sandbox's
 * descend from the controller; everybody else is an outsider. Numbers are those of the procfs that
 * proc is a descriptor of.
 */

/* A member of the group who is an outsider, or 0. One that cannot be looked for counts. */
pid_t foreground_outsider(int proc, pid_t group, pid_t controller);
/* Whether nobody of the group is one. Cheaper where its leader is still there. */
bool foreground_is_ours(int proc, pid_t group, pid_t controller);

#endif
