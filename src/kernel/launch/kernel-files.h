/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_KERNEL_FILES_H
#define BK_KERNEL_LAUNCH_KERNEL_FILES_H

#include "kernel/plan/plan.h"

/* Init's part, which takes longest: makes a mount of each, where policies can make them read-only.
 * What it leaves out, the other part makes up for. */
void kernel_files_prepare(void);

/*
 * Makes the kernel files of the plan read-only, or hides them under an empty mount, in the
 * sandbox's mount namespace. Returns 0 or a negative errno. Missing files are skipped.
 */
int kernel_files_make_read_only(const struct plan *p);

#endif
