/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Adds presets up. A preset is added once, however many others extend it; a preset that extends
 * itself, even through others, is a mistake. Presets are few, so a linear search is enough.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/spelling.h"
#include "graph/regex/regex.h"
#include "settings/preset-int.h"

enum { DEPTH = 64, NAMES = 256 };

int preset_push(struct arena *a, struct preset_paths *list, const struct preset_path *p)
{
    if ((list->n & (list->n - 1)) == 0) { /* doubled whenever it is a power of two */
        struct preset_path *more = arena_array(a, list->n ? 2 * list->n : 1, sizeof(*more));
        if (!more)
            return -1;
        if (list->n)
            memcpy(more, list->at, list->n * sizeof(*more));
        list->at = more;
    }
    list->at[list->n++] = *p;
    return 0;
}

static const struct preset *find_by_name(const struct preset *at, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(at[i].name, name) == 0)
            return &at[i];
    return NULL;
}

const struct preset *preset_find(const struct preset_config *c, const char *name,
                                 struct bk_err *err)
{
    const struct preset *p = find_by_name(c->shipped, c->nshipped, name);
    const char *names[NAMES];
    size_t n = 0;
    if (!p)
        p = find_by_name(c->presets, c->npresets, name);
    if (!p)
        p = find_by_name(c->tools, c->ntools, name);
    if (p)
        return p;
    for (size_t i = 0; i < c->npresets && n < NAMES; i++)
        names[n++] = c->presets[i].name;
    for (size_t i = 0; i < c->nshipped && n < NAMES; i++)
        names[n++] = c->shipped[i].name;
    for (size_t i = 0; i < c->ntools && n < NAMES; i++)
        names[n++] = c->tools[i].name;
    const char *near = spelling_nearest(name, names, n);
    err_set(err, BK_E_INPUT, "preset not found: %.100s", name);
    /* who forgets where it comes from */
    for (size_t i = 0; i < c->nshipped && !near; i++)
        if (strcmp(strchr(c->shipped[i].name, ':') + 1, name) == 0)
            near = c->shipped[i].name;
    if (near)
        err_hint(err, "did you mean %s?", near);
    else if (!c->file)
        err_remedy(err, REMEDY_LIST_PRESETS);
    return NULL;
}

/* ---- one after the other ---- */

struct adding {
    struct arena *arena;
    const struct preset_config *config;
    struct preset *sum;
    struct words done; /* names of what has been added */
    const char *path[DEPTH];
    struct bk_err *err;
};

static bool has_word(const char *const *at, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(at[i], word) == 0)
            return true;
    return false;
}

static int add_tool(struct adding *a, const struct preset *p)
{
    if (p->tool[TOOL_PROGRAMS].n && words_push(a->arena, &a->sum->tools, p->name) < 0)
        return err_nomem(a->err);
    for (size_t i = 0; i < p->tools.n; i++) /* of a sum */
        if (words_push(a->arena, &a->sum->tools, p->tools.at[i]) < 0)
            return err_nomem(a->err);
    return 0;
}

static int add_own(struct adding *a, const struct preset *p)
{
    if (add_tool(a, p) < 0)
        return -1;
    for (size_t f = 0; f < PRESET_FLAGS; f++)
        a->sum->flags[f] |= p->flags[f];
    for (size_t l = 0; l < PRESET_LISTS; l++)
        for (size_t i = 0; i < p->lists[l].n; i++)
            if (preset_push(a->arena, &a->sum->lists[l], &p->lists[l].at[i]) < 0)
                return err_nomem(a->err);
    return 0;
}

/* Not deeper than DEPTH, which is checked first. */
static int add_preset(struct adding *a, const char *name, size_t depth)
{
    if (has_word(a->path, depth, name) || depth == DEPTH) {
        err_set(a->err, BK_E_INPUT, "circular preset reference detected: %.100s", name);
        if (a->config->file)
            err_place(a->err, a->config->file, 0, 0);
        return -1;
    }
    if (has_word(a->done.at, a->done.n, name))
        return 0;
    const struct preset *p = preset_find(a->config, name, a->err);
    if (!p)
        return -1;
    a->path[depth] = name;
    for (size_t i = 0; i < p->extends.n; i++)
        if (add_preset(a, p->extends.at[i], depth + 1) < 0)
            return -1;
    if (words_push(a->arena, &a->done, name) < 0)
        return err_nomem(a->err);
    return add_own(a, p);
}

int preset_add(struct arena *arena, const struct preset_config *c, const char *name,
               struct preset *sum, struct bk_err *err)
{
    struct adding a = {.arena = arena, .config = c, .sum = sum, .err = err};
    return add_preset(&a, name, 0);
}

/* ---- presets of a command ---- */

static int matches(struct arena *arena, const char *pattern, const char *s, bool *out,
                   struct bk_err *err)
{
    struct regex_set *set = regex_set_new(arena, false, NULL);
    uint32_t id;
    const uint32_t *ids;
    if (!set)
        return err_nomem(err);
    if (regex_set_add(set, pattern, strlen(pattern), &id, err) < 0 ||
        regex_set_freeze(set, err) < 0)
        return -1;
    struct regex_cache *cache = regex_cache_new(set, 0);
    if (!cache)
        return err_nomem(err);
    *out = regex_match(set, cache, s, strlen(s), &ids) > 0;
    regex_cache_free(cache);
    return 0;
}

static int add_automatic(struct adding *a, const char *command, struct words *names)
{
    const char *slash = strrchr(command, '/'), *base = slash ? slash + 1 : command;
    for (size_t i = 0; i < a->config->nautos; i++) {
        const struct preset_auto *rule = &a->config->autos[i];
        bool meant = rule->command && strcmp(rule->command, base) == 0;
        if (!meant && rule->pattern && matches(a->arena, rule->pattern, base, &meant, a->err) < 0) {
            err_place(a->err, a->config->file, rule->line, 1);
            return -1;
        }
        for (size_t k = 0; meant && k < rule->presets.n; k++)
            if (words_push(a->arena, names, rule->presets.at[k]) < 0)
                return err_nomem(a->err);
    }
    return 0;
}

int preset_automatic(struct arena *arena, const struct preset_config *c, const char *command,
                     struct words *out, struct bk_err *err)
{
    struct adding a = {.arena = arena, .config = c, .err = err};
    return add_automatic(&a, command, out);
}

static int add_names(struct adding *a, const struct words *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (add_preset(a, names->at[i], 0) < 0)
            return -1;
    return 0;
}

int preset_sum(struct arena *arena, const struct preset_config *c, const struct words *names,
               const char *command, bool no_defaults, struct preset *sum, struct bk_err *err)
{
    struct preset found = {0};
    struct adding a = {.arena = arena, .config = c, .sum = &found, .err = err};
    struct words all = {0};
    for (size_t i = 0; i < names->n; i++)
        if (words_push(arena, &all, names->at[i]) < 0)
            return err_nomem(err);
    if ((command && add_automatic(&a, command, &all) < 0) || add_names(&a, &all) < 0)
        return -1;
    if (!no_defaults && !found.flags[PRESET_SKIP_DEFAULTS] && add_names(&a, &c->defaults) < 0)
        return -1;
    a.sum = sum;
    return add_own(&a, &found);
}
