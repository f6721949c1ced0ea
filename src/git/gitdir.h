/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_GITDIR_H
#define BK_GIT_GITDIR_H

#include <limits.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* Finds the repository of a working directory, in the usual .git or elsewhere (worktrees,
 * submodules). Elsewhere counts only if that folder names this working tree; else a .git file could
 * open any folder. Sets both to NULL if there is none. */
int git_folders(struct arena *a, const char *cwd, const char **own, const char **common,
                struct bk_err *err);

/* The real path of the working tree's top around a folder; "" if there is none. */
void git_top(const char *cwd, char top[PATH_MAX]);

/* The same for a working directory whose .git is a file: a linked worktree with its repository, or
 * a submodule, where both are the same. Returns false if it is neither. */
bool git_linked(const char *cwd, char own[PATH_MAX], char common[PATH_MAX]);

#endif
