/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_EXIT_STATUS_H
#define BK_CLI_RUN_EXIT_STATUS_H

#include "base/buf.h"
#include "kernel/launch/launch.h"

/* The exit status that tells of the command's end; when a signal ended it, this ends by the same
 * one, so that nobody can tell the difference. */
int exit_as(const struct launch_end *end);

/* Writes all of it, as far as that is possible, and frees it. */
void exit_write(int fd, struct buf *b);

#endif
