/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_PATH_H
#define BK_GIT_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The path of len bytes, taken from folder unless it is absolute, without ".", ".." and double
 * slashes. folder is canonical, so that ".." at the path's beginning means what it says; after
 * another component it does not where that is a link, and is refused, as control characters, an
 * empty path and one that climbs above "/" are. False leaves out alone.
 */
bool git_path_resolve(const char *folder, const char *path, size_t len, char *out, size_t out_size);

/* What follows folder and its slash in path, NULL unless path is strictly below. Both normalised.
 */
const char *git_path_below(const char *path, const char *folder);

/* Whether a component of the path is ".git", in any case: file systems may fold it. */
bool git_path_has_dotgit(const char *path);

#endif
