/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_EXIT_STATUS_H
#define BK_CLI_RUN_EXIT_STATUS_H

#include "base/buf.h"
#include "command/launch.h"

/* The exit status for the command's end. If a signal ended the command, this process ends by the
 * same signal. */
int exit_as(const struct launch_end *end);

/* Writes all of it if possible, and frees it. */
void exit_write(int fd, struct buf *b);

#endif
