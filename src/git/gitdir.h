/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_GITDIR_H
#define BK_GIT_GITDIR_H

#include <limits.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* The repository that a working directory belongs to: where git keeps it, both when that is the
 * usual .git and when it is elsewhere (worktrees, submodules). Elsewhere counts only when that
 * place says that it belongs here; else anybody who wrote a .git file could open any folder. NULL,
 * NULL when there is none. */
int git_folders(struct arena *a, const char *cwd, const char **own, const char **common,
                struct bk_err *err);

/* The top of the working tree that a folder is in, real; "" when there is none. */
void git_top(const char *cwd, char top[PATH_MAX]);

/* The same for a working directory whose .git is a file: a linked worktree, with the repository
 * that it belongs to, or a submodule, which is its own (common is the same then). False: it is
 * neither. */
bool git_linked(const char *cwd, char own[PATH_MAX], char common[PATH_MAX]);

#endif
