/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_GITFILES_H
#define BK_RUN_GITFILES_H

#include "base/err.h"

/*
 * Files that git's settings name: programs, folders of hooks, included settings. A process that can
 * write one of them decides what git runs, as if it could write the settings.
 */

/* Called with a real path, which need not exist, and the key that names it. Negative: an error. */
typedef int git_files_fn(void *arg, const char *path, const char *key, struct bk_err *err);

/*
 * Calls `each` for every file named by the settings of the user (home may be NULL), of the machine
 * and of the repository around the working directory, with all that they include. Unreadable
 * settings name nothing: git would stop there. Returns 0, or -1 with the error of `each`.
 */
int git_files_find(const char *cwd, const char *home, git_files_fn *each, void *arg,
                   struct bk_err *err);

#endif
