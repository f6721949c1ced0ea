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

#endif
