/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_USERNS_H
#define BK_KERNEL_JUDGE_HANDLE_USERNS_H

#include "kernel/judge/request.h"

/* The target's own user namespaces. */

struct pinned;

/* Opens an id map of a user namespace (a procfs file) as the target would. Returns a descriptor or
 * a negative errno; -ENOTSUP if the file is none, or user namespaces are not allowed. */
int userns_open(struct judge *j, const struct request *r, const struct pinned *p, int flags);
/* Whether the target changed its root, so that absolute paths mean other files to it. */
bool userns_other_root(const struct judge *j, const struct request *r);
/* Reports that such a path is refused. Returns -EPERM. */
int userns_refuse_path(struct judge *j, const struct request *r);
/* Whether these flags of clone() or unshare() ask for a namespace that is refused. */
bool userns_is_refused(const struct judge *j, uint64_t flags);
/* Reports the refusal. */
struct answer userns_refuse(struct judge *j, const struct request *r, uint64_t flags);

#endif
