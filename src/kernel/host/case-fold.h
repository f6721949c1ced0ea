/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_CASE_FOLD_H
#define BK_KERNEL_HOST_CASE_FOLD_H

#include "kernel/host/mounts.h"

/*
 * File systems that take .BASHRC for .bashrc. What a file there is called depends on who looked for
 * it, so rules about names have to be compared without regard to case; letters that fold to plain
 * ones, and characters that some of them do not count, are no way around either.
 */

/* Finds out whether the file systems that these folders lie on fold case, as far as their types do
 * not tell, and notes them in the view. Folders may be NULL. */
void case_fold_find(struct mounts_view *v, const char *const *folders, size_t n);

/* A path as such a file system may compare it, but for plain letters, which stay as they are: at
 * most as long. Its length. */
size_t case_fold_path(const char *path, size_t len, char *out);

/* Whether a part of it could be the second, short name of another file ("BASHRC~1"). */
bool case_fold_is_short(const char *path, size_t len);

#endif
