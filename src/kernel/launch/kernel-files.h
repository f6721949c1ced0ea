/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_KERNEL_FILES_H
#define BK_KERNEL_LAUNCH_KERNEL_FILES_H

#include "kernel/plan/plan.h"

/*
 * Puts what the plan seals out of the sandbox's reach, in its own mount namespace: read-only, or
 * under something empty. 0 or a negated errno; what does not exist needs no seal.
 */
int kernel_files_make_read_only(const struct plan *p);

/* What is read-only under this plan: names for people. Returns how many; at most cap. */
size_t seal_list(const struct plan *p, const char **names, size_t cap);

#endif
