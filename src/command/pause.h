/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_PAUSE_H
#define BK_COMMAND_PAUSE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Stops everything inside for a moment, to ask the user something on the terminal that the command
 * has too. Nothing inside can write over the question, or read the answer.
 */

/* For the launch: what to pause, once there is a command (init: 0 without a pid namespace), and
 * that there is none any more. */
void pause_begin(pid_t init, pid_t command);
void pause_end(void);

/* Call these while a launch runs, from any one other thread. Without a pid namespace only the
 * command itself is stopped. Returns when it has stopped. */
void pause_stop(void);
/* Continues the processes that it stopped. */
void pause_release(void);
bool pause_is_on(void); /* a stopped command has not stopped by itself */

bool pause_is_stopped(pid_t pid);
/* Whether a process is in the sandbox; always false without a pid namespace. */
bool pause_contains(pid_t pid);

#endif
