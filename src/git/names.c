/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which settings name programs and files, from names.def. */

#include "git/names.h"

#include <string.h>

static const struct {
    const char *pattern;
    enum git_names names;
} rows[] = {
#define NAME(pattern, kind) {pattern, GIT_NAMES_##kind},
#include "git/names.def"
#undef NAME
};

/* "alias.*" is the whole section. */
static bool matches(const char *key, const char *pattern)
{
    size_t n = strlen(pattern);
    if (pattern[n - 1] == '*')
        return !strncmp(key, pattern, n - 1);
    return git_key_matches(key, pattern);
}

enum git_names git_key_names(const char *key)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (matches(key, rows[i].pattern))
            return rows[i].names;
    return GIT_NAMES_NOTHING;
}
