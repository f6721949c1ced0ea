/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Path filters without a path. Every path begins with an empty string, so (subpath "") would match
 * every file. That is never intended: it is what (subpath (param "CACHE_DIR")) becomes when the
 * parameter is empty. Apple's compiler rejects it, and so do we.
 *
 * A string made from an empty parameter remembers that parameter (val.id), so that the error can
 * name it, and so that what remains around it is checked too: "^" and "/" also match every file.
 * Written out, they are intended.
 */

#include "sbpl/machine.h"

#include <string.h>

#include "base/own.h"
#include "graph/regex/regex.h"

void string_of_param(struct val *v, size_t param)
{
    if (v && v->n == 0)
        v->id = param < UINT16_MAX - 1 ? (uint16_t)(param + 1) : UINT16_MAX;
}

static const char *empty_param(const struct machine *m, const struct val *v)
{
    bool known = v->id && v->id <= m->unit->opt.nparams && v->id < UINT16_MAX;
    return known ? m->unit->opt.params[v->id - 1].key : NULL;
}

/* A pattern that matches this path, which no profile would name, matches every path. If that cannot
 * be determined, assume it does. */
static bool matches_all(const char *pattern, size_t n)
{
    static const char path[] = "/\001/\001";
    enum { BYTES = 16 << 20 };
    OWN(arena) struct arena arena;
    const uint32_t *ids;
    uint32_t id;
    struct bk_err err;
    arena_init(&arena, BYTES);
    struct regex_set *set = regex_set_new(&arena, false, NULL);
    if (!set || regex_set_add(set, pattern, n, &id, &err) < 0 || regex_set_freeze(set, &err) < 0)
        return true;
    struct regex_cache *cache = regex_cache_new(set, 0);
    bool all = !cache || regex_match(set, cache, path, sizeof(path) - 1, &ids) > 0;
    regex_cache_free(cache);
    return all;
}

static bool is_every_file(struct machine *m, const struct val *v, const struct graph_test *t)
{
    if (v->n == 0)
        return true;
    if (!v->id)
        return false;
    if (t->how == GRAPH_REGEX) {
        machine_charge(m, t->len * (size_t)256);
        return matches_all(t->str, t->len);
    }
    return strspn(v->s, "/") == v->n;
}

static void hint_param(struct machine *m, const struct val *v, const struct graph_test *t)
{
    const char *name = empty_param(m, v);
    if (name)
        machine_hint(m, "the parameter %s is empty: give it a path with -D %s=…", name, name);
    else if (t->how != GRAPH_LITERAL)
        machine_hint(m, "write (subpath \"/\") to match every file");
}

bool path_is_given(struct machine *m, src_pos pos, const struct val *v, const struct graph_test *t)
{
    if (t->how == GRAPH_LITERAL && v->n == 0) {
        diag_add(m->diags, DIAG_WARNING, "empty-path", pos, "an empty path matches no file");
        hint_param(m, v, t);
        return true;
    }
    if (t->how == GRAPH_LITERAL || !is_every_file(m, v, t))
        return true;
    machine_error(m, pos, "empty-path", "%s would match every file",
                  v->n ? "without its parameter this" : "an empty path");
    hint_param(m, v, t);
    return false;
}
