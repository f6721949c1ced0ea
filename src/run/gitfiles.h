/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_GITFILES_H
#define BK_RUN_GITFILES_H

#include "base/err.h"

/*
 * Files that git's settings name: programs, hooks' folders, settings to include. Who can write one
 * of them decides what git runs, as if the settings themselves could be written.
 */

/* Called with a real path, which need not exist, and the key that names it. Negative: an error. */
typedef int git_files_fn(void *arg, const char *path, const char *key, struct bk_err *err);

/*
 * Calls each for what is named by the settings of the person (home may be NULL), of the machine,
 * and of the repository that the working directory is in, and by what these include. Settings that
 * cannot be read name nothing: git would stop there. Answers 0, or -1 with what each said.
 */
int git_files_find(const char *cwd, const char *home, git_files_fn *each, void *arg,
                   struct bk_err *err);

#endif
