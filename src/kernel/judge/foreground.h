/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_FOREGROUND_H
#define BK_KERNEL_JUDGE_FOREGROUND_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Which processes are in the process group that holds a terminal. All processes of Buckle and of
 * the sandbox descend from the controller; any other process is an outsider. Pids are those of the
 * procfs behind `proc`.
 */

/* How the target has used the user's terminal (handle-terminal.c). */
struct terminal_use {
    bool handed;         /* its standard input was a terminal */
    bool away;           /* it took the terminal from a job that includes outsiders */
    unsigned taken_back; /* how often the controller took it back */
    pid_t caller; /* the process that waits for the command, if not the controller (launch.h) */
};

/* Returns an outsider in the group, or 0. If the group cannot be read, counts as having one. */
pid_t foreground_outsider(int proc, pid_t group, pid_t controller);
/* Whether the group has no outsider. Cheaper if its leader still exists. */
bool foreground_is_ours(int proc, pid_t group, pid_t controller);

#endif
