/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_LAUNCH_H
#define BK_KERNEL_LAUNCH_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernel/plan/plan.h"
#include "command/launch.h"

/*
 * Performs a plan: runs one command and everything it starts, until the command exits.
 *
 *   controller ──▶ init, PID 1 of the sandbox, which holds its namespaces
 *        └───────▶ judge ──▶ the command
 *
 * The controller is the calling process. It stays outside, receives events and passes on signals.
 * The judge enters the namespaces, confines itself, starts the command one layer further in and
 * answers its judged calls. If any of these processes dies, the command is killed.
 *
 * The judge needs the policy. If it is not there yet, the judge makes it: the judge starts while
 * there is little memory to copy, and the controller stays small.
 */
/* Returns 0 if the command ran and exited; -1 if it could not be started or the judge was lost.
 * Call it from a thread that lives as long as the launch: the judge dies with the thread that made
 * it. */
int launch_run(const struct launch *l, struct launch_end *end, struct bk_err *err);

/* For the launch that runs in this process, from on_input and similar callbacks. The first sends a
 * signal to the command: returns 0, or -ESRCH while there is none. The second ends it as after a
 * timeout: politely first, or at once (end->timed_out). */
int launch_signal(int sig);
void launch_cancel(bool at_once);
/* Whether a command is held, and its mounts are still those that were made for it. Ask once: the
 * kernel reports a change once. */
bool launch_is_whole(void);
/* Lets the held command of this process go, once. Returns 0, -ESRCH if none waits, or -E2BIG: it
 * still waits then. */
int launch_release(const struct launch_order *order);
/* The same for a launch that another process does for this one (nest.h), while it lasts; NULL: it
 * has ended. */
struct launch_elsewhere {
    int (*signal)(int sig);
    void (*cancel)(bool at_once);
};
void launch_replace(const struct launch_elsewhere *by);

/* Gives the running launch of this process another policy, from policy_update_make(). number as in
 * struct event. Returns 0 or a negative errno: -ESRCH if none runs that accepts one. */
int launch_update(uint32_t number, int sealed);

#endif
