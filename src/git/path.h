/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_PATH_H
#define BK_GIT_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Resolves a path of len bytes, from folder unless it is absolute, and removes ".", ".." and double
 * slashes. folder is canonical, so ".." at the start is exact. After another component, which may
 * be a symlink, ".." is rejected; so are control characters, an empty path and one that climbs
 * above "/". On failure returns false and leaves out untouched.
 */
bool git_path_resolve(const char *folder, const char *path, size_t len, char *out, size_t out_size);

/* Returns the part of path after folder and its slash; NULL unless path is strictly below. Both
 * must be normalised. */
const char *git_path_below(const char *path, const char *folder);

/* Whether a component of the path is ".git", in any case, because file systems may ignore it. */
bool git_path_has_dotgit(const char *path);

#endif
