/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_JOB_CONTROL_H
#define BK_KERNEL_LAUNCH_JOB_CONTROL_H

#include "kernel/launch/launch.h"

/* The controller's part in the job control of the shell that started it. */

/* The command's terminal, whether it inherited one or not; -1: none. */
int job_terminal(void);

/* Takes the foreground back from process groups of the sandbox, for the processes that started us:
 * the terminal stops a background process as soon as it reads. Another group that has it by now
 * keeps it. Returns whether it took it. */
bool job_take_back(const struct launch *l, int terminal);

/* The kernel has stopped our group. If the sandbox has the terminal and our group has other
 * processes, they get it back and go on. Otherwise we stop too, as if we had not handled the
 * signal. */
void job_stopped(const struct launch *l, int terminal, int sig);

/* The command stopped itself. We stop as well, so that the caller's shell notices, and wake it
 * afterwards. If the terminal stopped both of us, we slept until the message arrived, and the
 * command runs again. */
void job_mirror_stop(const struct launch *l, int terminal, pid_t command);

/* Stop signals that came while they were blocked would stop us afterwards. */
void job_discard_stops(void);

/* Our file descriptors don't get the numbers of standard streams; and the command's readers see the
 * end of file when it closes them. */
void job_keep_off_stdio(void);
void job_release_stdio(void);

#endif
