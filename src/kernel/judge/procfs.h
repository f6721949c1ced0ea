/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_PROCFS_H
#define BK_KERNEL_JUDGE_PROCFS_H

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

/* What may be reached in a procfs. */

bool procfs_may_be(const struct judge *w, unsigned dev_major, blksize_t block);
bool procfs_is(const struct judge *w, int fd, const struct stat *st);
/* Whether a pinned object may be used on behalf of the target at all: -EACCES, 1 when it may and
 * lies in a procfs, 0 when it lies in none. */
int procfs_check(struct judge *w, const struct request *r, int fd, const struct stat *st,
                 const char *path);
/* What the policy says about processes and variables of the kernel, as far as the object is one. 0
 * or a negated errno; the path itself is asked about as any other. */
enum { PROCFS_LOOK = 1, PROCFS_READ = 2, PROCFS_CHANGE = 4 };
int procfs_ask(struct judge *w, const struct request *r, const struct pinned *p, unsigned what);

#endif
