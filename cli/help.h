/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_HELP_H
#define BK_CLI_HELP_H

#include "base/buf.h"
#include "cli/cmd.h"

void help_program(struct buf *out);
void help_options(const struct cli_option *options, struct buf *out);
void help_command(const struct cli_command *command, struct buf *out);

const struct cli_command *find_command(const char *name);

/* Prints "buckle: unknown command …" with a suggestion; returns CLI_ERROR. */
int unknown_command(const char *name);

#endif
