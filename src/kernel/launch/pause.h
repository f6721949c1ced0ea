/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_PAUSE_H
#define BK_KERNEL_LAUNCH_PAUSE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Stopping everything inside for a moment, so that a person can be asked something on the terminal
 * that the command has too: nothing inside can write over the question, or read the answer.
 */

/* The launcher's: whom it is about, once there is a command (init: 0 without a pid namespace); and
 * that there is none any more. */
void pause_begin(pid_t init, pid_t command);
void pause_end(void);

/* While a launch runs, from any one other thread. Without a pid namespace only the command itself
 * is stopped. Returns when it has. */
void pause_stop(void);
/* Lets those go on that were stopped by it. */
void pause_release(void);
bool pause_is_on(void); /* a stopped command has not stopped by itself */

bool pause_is_stopped(pid_t pid);
/* Whether a process is one of the sandbox's; never without a pid namespace. */
bool pause_contains(pid_t pid);

#endif
