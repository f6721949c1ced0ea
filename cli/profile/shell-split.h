/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_SHELL_SPLIT_H
#define BK_CLI_PROFILE_SHELL_SPLIT_H

#include <stddef.h>

#include "base/err.h"

/* Splits a row into words as a shell does: blanks separate, '…' and "…" quote, \ escapes the next
 * character. Modifies line; the caller frees *words, whose strings point into line. An empty line
 * has no words. */
int shell_split(char *line, const char ***words, size_t *n, struct bk_err *err);

#endif
