/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CALLER_PATH_H
#define BK_KERNEL_JUDGE_CALLER_PATH_H

#include "kernel/judge/request.h"

/* Rewrites a path that means the caller, in a buffer of PATH_BYTES, to the target's entry in its
 * /proc, unless the link itself is meant (PIN_NOFOLLOW). Returns 0 or a negative errno. */
int caller_path_rewrite(struct judge *j, const struct request *r, char *path, unsigned flags);

#endif
