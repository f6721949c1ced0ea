/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Compiles the policy a first time to ask it. That happens only if a preset's tool has such
 * files. */

#include "run/registry-files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "run/run-policy.h"

static bool can_write(const struct graph *g, struct graph_cache *cache, const char *path, size_t n)
{
    static const uint16_t ops[] = {OP_FILE_WRITE_CREATE, OP_FILE_WRITE_DATA, OP_FILE_WRITE_UNLINK};
    struct graph_fact fact = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)n};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        struct graph_query q = {.op = ops[i], .facts = &fact, .nfacts = 1};
        if (graph_eval(g, cache, &q).allow)
            return true;
    }
    return false;
}

/* Whether the command can change what is at this path. A protected name in a folder that it can
 * write counts as its own: protection has exceptions. */
static bool is_reached(const struct graph *g, struct graph_cache *cache, const char *path)
{
    char beside[PATH_MAX + 16];
    size_t n = strlen(path);
    int folder = (int)(strrchr(path, '/') - path);
    int len = snprintf(beside, sizeof(beside), "%.*s/buckle-beside", folder, path);
    if (can_write(g, cache, beside, (size_t)len))
        return true;
    for (; n > 1; n--)
        if ((path[n] == '/' || !path[n]) && can_write(g, cache, path, n))
            return true;
    return false;
}

/* Whether the path, the links on it, and where they lead are all out of reach. */
static bool is_safe(const struct graph *g, struct graph_cache *cache, const char *path,
                    struct arena *arena)
{
    struct places found = {0}, links = {0};
    struct path_base base = {.cwd = "/"};
    struct path_entry e = {.text = path, .n = strlen(path), .literal = true, .links = &links};
    struct bk_err ignored;
    if (path_places(arena, &base, &e, &found, &ignored) < 0 || !found.n)
        return false;
    for (size_t i = 0; i < found.n; i++)
        if (is_reached(g, cache, found.at[i].path))
            return false;
    for (size_t i = 0; i < links.n; i++)
        if (is_reached(g, cache, links.at[i].path))
            return false;
    return true;
}

static int check(const struct graph *g, const struct assembly *a, struct arena *arena,
                 struct words *out, struct bk_err *err)
{
    struct graph_cache *cache = graph_cache_new(g);
    int result = cache ? 0 : err_nomem(err);
    for (size_t i = 0; result == 0 && i < a->registries.n; i++) {
        const struct registry_source *r = &a->registries.at[i];
        if (r->project || !r->path || !is_safe(g, cache, r->path, arena))
            continue;
        const char *kept = arena_strndup(arena, r->path, strlen(r->path));
        if (!kept || words_push(arena, out, kept) < 0)
            result = err_nomem(err);
    }
    graph_cache_free(cache);
    return result;
}

int registry_files_check(const struct run_spec *spec, const char *tmpdir, const struct assembly *a,
                         struct arena *arena, struct words *out, struct bk_err *err)
{
    OWN(run_policy) struct run_policy p = {0};
    struct run_spec with = *spec;
    const struct buf own = {0};
    bool any = false;
    for (size_t i = 0; i < a->registries.n; i++)
        any |= !a->registries.at[i].project && a->registries.at[i].path;
    if (!any)
        return 0;
    run_spec_use(&with, a);
    if (run_policy_gather(&p, &with, tmpdir, &own, err) < 0 || run_policy_compile(&p, err) < 0)
        return -1;
    return check(p.graph, a, arena, out, err);
}
