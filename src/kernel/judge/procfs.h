/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_PROCFS_H
#define BK_KERNEL_JUDGE_PROCFS_H

#include <sys/stat.h>

#include "kernel/judge/request.h"

/* What the target may reach in a procfs. */

struct pinned;

struct procfs_view {
    int inner;       /* the sandbox's /proc; -1 if it cannot be opened */
    dev_t dev;       /* of the /proc that the target sees */
    blksize_t block; /* of every procfs */
};

/* Whether something on this device can be in a procfs; cheap. */
bool procfs_may_be(const struct judge *j, unsigned dev_major, blksize_t block);
bool procfs_is(const struct judge *j, int fd, const struct stat *st);
/* Whether a pinned object may be used on the target's behalf at all. Returns -EACCES if not, 1 if
 * it may and is in a procfs, 0 if it is in none. */
int procfs_check(struct judge *j, const struct request *r, int fd, const struct stat *st,
                 const char *path);
/* Asks the policy about the process or kernel variable that the object shows, if any. The path
 * itself is a separate question. Returns 0 or a negative errno. */
enum { PROCFS_LOOK = 1, PROCFS_READ = 2, PROCFS_CHANGE = 4 };
int procfs_ask(struct judge *j, const struct request *r, const struct pinned *p, unsigned what);

#endif
