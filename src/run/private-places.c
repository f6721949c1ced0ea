/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The policy is not compiled yet, so this looks at what may open a folder: the working directory,
 * settings, presets and flags. In doubt it sets nothing.
 */

#include "run/private-places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/access.h"

static const struct {
    const char *variable, *name;
    const char *real[2];
} table[] = {
#define PLACE(variable, name, ...) {variable, name, {__VA_ARGS__}},
#include "run/private-places.def"
};

/* Whether one of the paths contains the other; a pattern counts up to its first special character.
 */
static bool touches(const char *path, const char *other)
{
    size_t n = strcspn(path, "*?["), m = strlen(other);
    while (n > 1 && path[n - 1] == '/')
        n--;
    bool pattern = path[strcspn(path, "*?[")] != '\0';
    size_t least = n < m ? n : m;
    if (strncmp(path, other, least) != 0)
        return false;
    return pattern || n == 1 || n == m || (n < m ? other[n] : path[m]) == '/';
}

static bool touches_any(const struct places *list, const char *path)
{
    for (size_t i = 0; list && i < list->n; i++)
        if (touches(list->at[i].path, path))
            return true;
    return false;
}

static bool may_be_open(const struct run_spec *spec, const char *path)
{
    if (touches(spec->launch.cwd, path) || touches_any(spec->writable, path) ||
        touches_any(spec->caches, path))
        return true;
    for (size_t i = 0; i < spec->nopened; i++) {
        char real[PATH_MAX];
        const char *given = spec->opened[i];
        /* what is missing, relative or begins with a tilde could be anywhere */
        if (!realpath(given, real) ? given[0] != '/' || touches(given, path) : touches(real, path))
            return true;
    }
    return false;
}

int private_places(const struct run_spec *spec, const char *tmpdir, struct arena *arena,
                   const char *out[PRIVATE_PLACES])
{
    const char *home = getenv("HOME");
    int n = 0;
    if (!spec->private_places || !home || home[0] != '/')
        return 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char path[PATH_MAX], text[PATH_MAX];
        bool open = getenv(table[i].variable) != NULL;
        for (size_t k = 0; k < 2 && !open; k++) {
            int len = snprintf(path, sizeof(path), "%s/%s", home, table[i].real[k]);
            open = len >= PATH_MAX || may_be_open(spec, path);
        }
        int len =
            snprintf(text, sizeof(text), "%s=%s/%s", table[i].variable, tmpdir, table[i].name);
        if (open || len >= PATH_MAX)
            continue;
        out[n] = arena_strndup(arena, text, (size_t)len);
        if (!out[n++])
            return -1;
    }
    return n;
}
