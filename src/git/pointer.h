/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_POINTER_H
#define BK_GIT_POINTER_H

#include <stdbool.h>
#include <stddef.h>

/* Files that name another part of a repository, with one path each. */
enum git_pointer {
    GIT_POINTER_DOTGIT,    /* .git of a linked working tree or a submodule: "gitdir: PATH" */
    GIT_POINTER_GITDIR,    /* worktrees/NAME/gitdir: the .git file that points here */
    GIT_POINTER_COMMONDIR, /* worktrees/NAME/commondir: the main repository */
};

/*
 * Reads the path in a pointer file in folder, normalised and absolute (see path.h). Accepts only
 * exactly what git writes: one line with one newline and no control characters. The caller must
 * check for symlinks. On failure returns false and leaves out untouched.
 */
bool git_pointer_read(const char *text, size_t n, enum git_pointer kind, const char *folder,
                      char *out, size_t out_size);

#endif
