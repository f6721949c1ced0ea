/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_STAY_H
#define BK_RUN_STAY_H

#include <stdbool.h>

/*
 * A run that stays with the background processes of its command, while its caller goes on: another
 * process, which the caller knows as the run, exits as the command did.
 */

/* Forks. The run is the child, and returns true. The parent waits, passes signals on and exits, and
 * does not return. Returns false if this cannot be done: background processes end with the
 * command. */
bool stay_begin(void);
/* Does not fork: stay_leave() writes to this socket, which becomes its own. */
void stay_report(int sock);
/* In the run: the command has exited with this status (waitpid), and the caller may go on. */
void stay_leave(int status);

#endif
