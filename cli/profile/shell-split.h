/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_SHELL_SPLIT_H
#define BK_CLI_PROFILE_SHELL_SPLIT_H

#include <stddef.h>

#include "base/err.h"

/* Cuts a row into words as a shell would: blanks separate, '…' and "…" quote, \ takes the next
 * character as it is. Works in place: *words is allocated, its strings lie in line. An empty line
 * has no words. */
int shell_split(char *line, const char ***words, size_t *n, struct bk_err *err);

#endif
