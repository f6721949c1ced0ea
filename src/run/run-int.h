/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_INT_H
#define BK_RUN_RUN_INT_H

#include "run/run.h"

/* update.c: makes a graph of what run_update() sent; in the processes that enforce it. */
struct graph *run_recompile(void *arg, const void *bytes, size_t n);
void run_updates_free(struct run *r);

/* seatbelt.c: the whole of it by macOS's means, the policy compiled and the environment made. */
int run_macos(struct run *r, struct launch_end *end, struct bk_err *err);

#endif
