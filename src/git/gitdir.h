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

/* The repository of a working directory, if git keeps it outside. */
struct git_outside {
    char own[PATH_MAX];    /* this working tree's part of it */
    char common[PATH_MAX]; /* the part that all working trees share, around it; may be the same */
    char top[PATH_MAX];    /* of the working tree, if that is above the working directory; or "" */
};

/* Finds it for a canonical working directory: a folder inside a working tree, the top of a linked
 * worktree, or of a submodule. Not if the working tree is the home folder or around it (NULL if
 * there is none), or somebody else's. Returns false if there is none. */
bool git_outside(const char *cwd, const char *home, struct git_outside *out);

#endif
