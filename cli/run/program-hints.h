/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_PROGRAM_HINTS_H
#define BK_CLI_RUN_PROGRAM_HINTS_H

#include "base/buf.h"

/* For a command that failed: appends one line if it is, or is a shell's command line that starts, a
 * program that cannot work inside. Returns whether it is. */
bool program_hint(char *const *argv, struct buf *out);

#endif
