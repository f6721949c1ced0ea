/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_CASE_FOLD_H
#define BK_KERNEL_HOST_CASE_FOLD_H

#include "kernel/host/mounts.h"

/*
 * File systems that treat .BASHRC and .bashrc as one name. The name of a file there depends on the
 * process that looked it up, so rules must be compared without regard to case. Characters that fold
 * to ASCII, or that the file system ignores, must not get around a rule either.
 */

/* Finds out whether the file systems of these folders fold case, where their types do not say, and
 * records it in the view. Folders may be NULL. */
void case_fold_find(struct mounts_view *v, const char *const *folders, size_t n);

/* Writes a path as such a file system may compare it. ASCII letters keep their case. Returns the
 * length, which is at most n. */
size_t case_fold_path(const char *path, size_t len, char *out);

/* Whether a part of it could be the short (8.3) name of another file ("BASHRC~1"). */
bool case_fold_is_short(const char *path, size_t len);

#endif
