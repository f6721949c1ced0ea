/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PAGER_H
#define BK_CLI_PAGER_H

#include "base/buf.h"

/* As cli_emit(), by the user's pager if standard output is a terminal: BUCKLE_PAGER, PAGER or less.
 * An empty variable or `cat` means none. Text that fits on the screen stays there. */
int pager_emit(struct buf *out, int status);

#endif
