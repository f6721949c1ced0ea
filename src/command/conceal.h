/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_CONCEAL_H
#define BK_COMMAND_CONCEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends a command as a JSON array of strings, with *** for what looks like a secret: values of
 * variables and options with such names, passwords in URLs, and tokens with known beginnings. */
void conceal_command(char *const *argv, struct buf *out);
/* The same for one text, such as a line for a shell. Returns whether the next text is a secret. */
bool conceal_text(const char *text, size_t n, bool secret, struct buf *out);

#endif
