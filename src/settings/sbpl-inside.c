/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which of two places is more specific. An allowed place is inside a denied one if all of it is: a
 * path that the denied place covers, or a glob whose fixed beginning it covers. In all other cases
 * (a denied place inside an allowed one, an overlap, the same place) the denial stays as it is.
 *
 * All denied globs form one automaton, which runs once for each allowed place.
 */

#include <string.h>

#include "graph/regex/regex.h"
#include "settings/sbpl-int.h"

static size_t path_len(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

static bool covers(const char *folder, const char *path, size_t n)
{
    size_t f = path_len(folder);
    if (f == 1)
        return true;
    return n >= f && memcmp(folder, path, f) == 0 && (n == f || path[f] == '/');
}

/* A path that represents all of an allowed place; *n is 0 if there is none. */
static const char *representative_path(const struct place *a, size_t *n)
{
    *n = a->kind == PLACE_GLOB ? glob_fixed(a->path) : path_len(a->path);
    return a->path;
}

static bool inside_plain(const struct place *d, const struct place *a)
{
    size_t n;
    const char *path = representative_path(a, &n);
    if (d->kind == PLACE_LITERAL || !covers(d->path, path, n))
        return false;
    /* of the same name only a file inside a folder is less */
    return n > path_len(d->path) || a->kind != PLACE_SUBPATH;
}

static bool is_same(const struct place *d, const struct place *a)
{
    size_t n = path_len(d->path);
    return d->kind == a->kind && n == path_len(a->path) && memcmp(d->path, a->path, n) == 0;
}

static int add_glob(struct arena *arena, struct regex_set *set, const char *glob,
                    struct bk_err *err)
{
    struct buf pattern = {0};
    const char *mended = glob_mend(arena, glob);
    const char *regex = mended ? glob_to_regex(arena, mended, strlen(mended)) : NULL;
    uint32_t id;
    if (!regex)
        return err_nomem(err);
    buf_add(&pattern, regex, strlen(regex) - 1);
    buf_str(&pattern, "(/.*)?$");
    int result =
        buf_ok(&pattern) ? regex_set_add(set, pattern.s, pattern.n, &id, err) : err_nomem(err);
    buf_free(&pattern);
    return result;
}

/* globs[i]: which denied place has the pattern i. */
static int match_globs(struct arena *arena, const struct carving *c, const size_t *globs,
                       bool *inside, struct bk_err *err)
{
    const struct places *deny = c->deny, *allow = c->allow;
    struct regex_set *set = regex_set_new(arena, false, NULL);
    if (!set)
        return err_nomem(err);
    for (size_t d = 0; d < deny->n; d++)
        if (deny->at[d].kind == PLACE_GLOB && add_glob(arena, set, deny->at[d].path, err) < 0)
            return -1;
    if (regex_set_freeze(set, err) < 0)
        return -1;
    struct regex_cache *cache = regex_cache_new(set, 0);
    if (!cache)
        return err_nomem(err);
    for (size_t a = 0; a < allow->n; a++) {
        size_t n;
        const uint32_t *ids;
        const char *path = representative_path(&allow->at[a], &n);
        size_t hits = n ? regex_match(set, cache, path, n, &ids) : 0;
        for (size_t i = 0; i < hits; i++)
            inside[globs[ids[i]] * allow->n + a] = true;
    }
    regex_cache_free(cache);
    return 0;
}

int carve(struct arena *arena, struct carving *c, struct bk_err *err)
{
    const struct places *deny = c->deny, *allow = c->allow;
    size_t nglobs = 0;
    size_t *globs = arena_array(arena, deny->n + 1, sizeof(*globs));
    size_t cells;
    if (__builtin_mul_overflow(deny->n, allow->n, &cells))
        return err_nomem(err);
    bool *inside = arena_array(arena, cells + 1, sizeof(*inside));
    if (!globs || !inside)
        return err_nomem(err);
    for (size_t d = 0; d < deny->n; d++) {
        if (deny->at[d].kind == PLACE_GLOB)
            globs[nglobs++] = d;
        for (size_t a = 0; deny->at[d].kind != PLACE_GLOB && a < allow->n; a++)
            inside[d * allow->n + a] = inside_plain(&deny->at[d], &allow->at[a]);
    }
    if (nglobs && allow->n && match_globs(arena, c, globs, inside, err) < 0)
        return -1;
    for (size_t d = 0; d < deny->n; d++)
        for (size_t a = 0; a < c->same; a++)
            inside[d * allow->n + a] |= is_same(&deny->at[d], &allow->at[a]);
    c->inside = inside;
    return 0;
}
