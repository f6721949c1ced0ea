/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_END_FOLDER_H
#define BK_CLI_RUN_END_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "command/end-folder.h"

/* Learns the folder in which a shell's command ends (command/end-folder.h), from a pipe. */
struct end_folder {
    int from;   /* 0: no pipe */
    char *line; /* the shell's new argument */
};

/* Makes the shell do that: changes the third of its words (SHELL -c COMMAND). Returns -1 if the
 * command is none of a shell. */
int end_folder_begin(struct end_folder *f, const char **words, size_t n);
/* What was written, or false. Does not wait. */
bool end_folder_read(struct end_folder *f, char out[PATH_MAX]);

#endif
