/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Pointer files. Git reads more forms than it writes (either kind of line end, or none). This
 * accepts only the form that git writes, so that all readers see the same path.
 */

#include "git/pointer.h"

#include <string.h>

#include "git/path.h"

static const char prefix[] = "gitdir: ";

bool git_pointer_read(const char *text, size_t n, enum git_pointer kind, const char *folder,
                      char *out, size_t out_size)
{
    size_t skipped = kind == GIT_POINTER_DOTGIT ? sizeof(prefix) - 1 : 0;
    if (n < skipped + 2 || memcmp(text, prefix, skipped) != 0 || text[n - 1] != '\n')
        return false;
    /* white space at an end hides in messages, and git writes none */
    const char *path = text + skipped;
    size_t len = n - skipped - 1;
    if (path[0] == ' ' || path[len - 1] == ' ')
        return false;
    return git_path_resolve(folder, path, len, out, out_size);
}
