/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_PATH_H
#define BK_BASE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Whether a path is the folder or below it. Both are absolute and canonical. */
static inline bool path_is_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/' || folder[n - 1] == '/');
}

/* The same for paths of known lengths, which nothing has to end: below the folder, or also it. */
static inline bool path_is_below(const char *path, size_t len, const char *folder, size_t n)
{
    return len > n && path[n] == '/' && memcmp(path, folder, n) == 0;
}

static inline bool path_is_at_or_below(const char *path, size_t len, const char *folder, size_t n)
{
    return path_is_below(path, len, folder, n) || (len == n && memcmp(path, folder, n) == 0);
}

#endif
