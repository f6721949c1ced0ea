/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_INT_H
#define BK_RUN_RUN_INT_H

#include "run/run.h"

/* update.c: compiles what run_update() sent; called in the processes that enforce it. */
struct graph *run_recompile(void *arg, const void *bytes, size_t n);
void run_updates_free(struct run *r);

/* seatbelt.c: runs the command with macOS's sandbox-exec. The policy is compiled and the
 * environment made. */
int run_macos(struct run *r, struct launch_end *end, struct bk_err *err);

#endif
