/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_PLAN_KERNEL_FILES_H
#define BK_KERNEL_PLAN_PLAN_KERNEL_FILES_H

#include "kernel/plan/plan.h"

/* Files that control the kernel, and whether a plan makes one read-only. */
struct plan_kernel_file {
    const char *path;
    uint8_t when; /* whether variables may be written at all (plan-kernel-files.c) */
    bool tree;    /* a file system that contains others */
};
size_t plan_kernel_files(const struct plan_kernel_file **list);
/* Whether nearly every plan of root's does so, by a mount on the file itself. */
bool plan_usually_makes_read_only(const struct plan_kernel_file *file);
bool plan_makes_read_only(const struct plan *p, const struct plan_kernel_file *file);

#endif
