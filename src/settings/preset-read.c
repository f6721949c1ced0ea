/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A presets file: YAML → presets. Unknown keys are errors, because a partly ignored policy is worse
 * than none; only keys that begin with x- are skipped, as a place for anchors. Aliases share their
 * nodes, so steps are counted: a small file could otherwise expand to a very large one.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "base/spelling.h"
#include "graph/regex/regex.h"
#include "settings/preset-int.h"
#include "settings/ytree.h"

enum { STEPS = 100000, MERGES = 8, NAME_BYTES = 128 };

struct reading {
    struct arena *arena;
    const char *name;
    size_t steps;
    struct bk_err *err;
};

/* ---- complaints ---- */

static int wrong(struct reading *r, const struct ynode *at, const char *what, const char *wants)
{
    err_set(r->err, BK_E_INPUT, "%s: expected %s, not %s", what, wants, ynode_words(at));
    if (at->kind == YNODE_TEXT && ynode_is_other(at) && strcmp(wants, "a text") == 0)
        err_hint(r->err, "write it in quotes");
    return ytree_fail(r->name, at, r->err);
}

static int unknown(struct reading *r, const struct ynode *key, const char *where,
                   const char *const *keys, size_t n)
{
    const char *near = spelling_nearest(key->text, keys, n);
    err_set(r->err, BK_E_INPUT, "unknown key %.80s in %s", key->text, where);
    if (near) {
        err_hint(r->err, "did you mean %s?", near);
    } else {
        char all[160];
        size_t used = 0;
        for (size_t i = 0; i < n && used < sizeof(all); i++)
            used +=
                (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", keys[i]);
        err_hint(r->err, "known: %s", all);
    }
    return ytree_fail(r->name, key, r->err);
}

static int count(struct reading *r, const struct ynode *at)
{
    if (++r->steps <= STEPS)
        return 0;
    err_set(r->err, BK_E_LIMIT, "aliases expand this file too far");
    return ytree_fail(r->name, at, r->err);
}

static bool is_nothing(const struct ynode *n)
{
    return n->kind == YNODE_TEXT && n->plain && strcmp(ynode_words(n), "nothing") == 0;
}

/* ---- values ---- */

static int read_text(struct reading *r, const struct ynode *n, const char *what, const char **out)
{
    if (count(r, n) < 0)
        return -1;
    if (n->kind != YNODE_TEXT || ynode_is_other(n))
        return wrong(r, n, what, "a text");
    *out = n->text;
    return 0;
}

static int read_flag(struct reading *r, const struct ynode *n, const char *what, bool *out)
{
    if (count(r, n) < 0)
        return -1;
    return ynode_truth(n, out) ? 0 : wrong(r, n, what, "true or false");
}

static int read_words(struct reading *r, const struct ynode *n, const char *what, struct words *out)
{
    if (is_nothing(n))
        return 0;
    if (n->kind != YNODE_LIST)
        return wrong(r, n, what, "a list");
    for (size_t i = 0; i < n->n; i++) {
        const char *word = NULL;
        if (read_text(r, n->at[i], what, &word) < 0)
            return -1;
        if (words_push(r->arena, out, word) < 0)
            return err_nomem(r->err);
    }
    return 0;
}

static const char *const path_keys[] = {"path", "except", "eval-symlinks"};

static int read_path_map(struct reading *r, const struct ynode *n, const char *what, bool denial,
                         struct preset_path *out)
{
    size_t known = sizeof(path_keys) / sizeof(*path_keys);
    for (size_t i = 0; i < n->n; i++) {
        const struct ynode *key = n->at[2 * i], *value = n->at[2 * i + 1];
        int result;
        if (strcmp(key->text, "path") == 0)
            result = read_text(r, value, "path", &out->path);
        else if (strcmp(key->text, "eval-symlinks") == 0)
            result = read_flag(r, value, "eval-symlinks", &out->eval_symlinks);
        else if (strcmp(key->text, "except") == 0 && denial)
            result = read_words(r, value, "except", &out->except);
        else if (strcmp(key->text, "except") == 0) {
            err_set(r->err, BK_E_INPUT, "except is allowed in deny and deny-read, not in %s", what);
            return ytree_fail(r->name, key, r->err);
        } else
            return unknown(r, key, what, path_keys, known);
        if (result < 0)
            return -1;
    }
    if (out->path)
        return 0;
    err_set(r->err, BK_E_INPUT, "%s: an entry has no path", what);
    return ytree_fail(r->name, n, r->err);
}

static int read_paths(struct reading *r, const struct ynode *n, const char *preset,
                      enum preset_list list, struct preset_paths *out)
{
    const char *what = preset_list_keys[list];
    bool denial = list == PRESET_DENY || list == PRESET_DENY_READ;
    if (is_nothing(n))
        return 0;
    if (n->kind != YNODE_LIST)
        return wrong(r, n, what, "a list");
    for (size_t i = 0; i < n->n; i++) {
        const struct ynode *e = n->at[i];
        struct preset_path p = {.line = e->line, .col = e->col};
        char origin[160];
        if (e->kind == YNODE_MAP) {
            if (count(r, e) < 0 || read_path_map(r, e, what, denial, &p) < 0)
                return -1;
        } else if (read_text(r, e, what, &p.path) < 0) {
            return -1;
        }
        int len = snprintf(origin, sizeof(origin), "preset %.100s, line %u", preset, e->line);
        p.origin = arena_strndup(r->arena, origin, (size_t)len);
        if (!p.origin || preset_push(r->arena, out, &p) < 0)
            return err_nomem(r->err);
    }
    return 0;
}

/* ---- presets ---- */

const char *const preset_flag_keys[] = {
#define FLAG(id, key) key,
#define LIST(id, key, words)
#include "settings/presets.def"
};

const char *const preset_list_keys[] = {
#define FLAG(id, key)
#define LIST(id, key, words) key,
#include "settings/presets.def"
};

static const char *const preset_keys[] = {
    "extends",
#define FLAG(id, key) key,
#define LIST(id, key, words)
#include "settings/presets.def"
#define FLAG(id, key)
#define LIST(id, key, words) key,
#include "settings/presets.def"
};

enum { KEYS = sizeof(preset_keys) / sizeof(*preset_keys) };

static int read_key(struct reading *r, size_t key, const struct ynode *value, struct preset *p)
{
    if (key == 0)
        return read_words(r, value, "extends", &p->extends);
    if (key <= PRESET_FLAGS)
        return read_flag(r, value, preset_keys[key], &p->flags[key - 1]);
    size_t list = key - 1 - PRESET_FLAGS;
    return read_paths(r, value, p->name, (enum preset_list)list, &p->lists[list]);
}

static int read_pairs(struct reading *r, const struct ynode *map, bool seen[KEYS], unsigned depth,
                      struct preset *p);

/* <<: entries of the named maps that are missing here */
static int read_merged(struct reading *r, const struct ynode *value, bool seen[KEYS],
                       unsigned depth, struct preset *p)
{
    if (value->kind == YNODE_MAP)
        return read_pairs(r, value, seen, depth, p);
    if (value->kind != YNODE_LIST)
        return wrong(r, value, "<<", "a map");
    for (size_t i = 0; i < value->n; i++) {
        if (value->at[i]->kind != YNODE_MAP)
            return wrong(r, value->at[i], "<<", "a map");
        if (read_pairs(r, value->at[i], seen, depth, p) < 0)
            return -1;
    }
    return 0;
}

static int read_pair(struct reading *r, const struct ynode *key, const struct ynode *value,
                     bool seen[KEYS], struct preset *p)
{
    char where[120];
    for (size_t k = 0; k < KEYS; k++) {
        if (strcmp(preset_keys[k], key->text) != 0)
            continue;
        bool before = seen[k];
        seen[k] = true;
        return before ? 0 : read_key(r, k, value, p);
    }
    snprintf(where, sizeof(where), "preset %.100s", p->name);
    return unknown(r, key, where, preset_keys, KEYS);
}

static int read_pairs(struct reading *r, const struct ynode *map, bool seen[KEYS], unsigned depth,
                      struct preset *p)
{
    if (depth > MERGES) {
        err_set(r->err, BK_E_LIMIT, "<< is nested too deeply");
        return ytree_fail(r->name, map, r->err);
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct ynode *key = map->at[2 * i];
        if (count(r, key) < 0)
            return -1;
        if (strcmp(key->text, "<<") != 0 && read_pair(r, key, map->at[2 * i + 1], seen, p) < 0)
            return -1;
    }
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->at[2 * i]->text, "<<") == 0 &&
            read_merged(r, map->at[2 * i + 1], seen, depth + 1, p) < 0)
            return -1;
    return 0;
}

static int read_presets(struct reading *r, const struct ynode *n, struct preset_config *c)
{
    if (is_nothing(n))
        return 0;
    if (n->kind != YNODE_MAP)
        return wrong(r, n, "presets", "a map");
    c->presets = arena_array(r->arena, n->n + 1, sizeof(*c->presets));
    if (!c->presets)
        return err_nomem(r->err);
    for (size_t i = 0; i < n->n; i++) {
        const struct ynode *key = n->at[2 * i], *value = n->at[2 * i + 1];
        struct preset *p = &c->presets[c->npresets];
        bool seen[KEYS] = {false};
        *p = (struct preset){.name = key->text, .line = key->line};
        if (strlen(key->text) > NAME_BYTES) {
            err_set(r->err, BK_E_LIMIT, "the name of a preset has more than %d bytes", NAME_BYTES);
            return ytree_fail(r->name, key, r->err);
        }
        if (strncmp(key->text, "builtin:", 8) == 0) {
            err_set(r->err, BK_E_INPUT, "%.80s: names that begin with builtin: are reserved",
                    key->text);
            return ytree_fail(r->name, key, r->err);
        }
        if (!is_nothing(value) && value->kind != YNODE_MAP)
            return wrong(r, value, key->text, "a map");
        if (value->kind == YNODE_MAP && read_pairs(r, value, seen, 0, p) < 0)
            return -1;
        c->npresets++;
    }
    return 0;
}

/* ---- defaults and auto-presets ---- */

static int read_defaults(struct reading *r, const struct ynode *n, struct preset_config *c)
{
    static const char *const keys[] = {"presets"};
    if (is_nothing(n))
        return 0;
    if (n->kind != YNODE_MAP)
        return wrong(r, n, "defaults", "a map");
    for (size_t i = 0; i < n->n; i++) {
        if (strcmp(n->at[2 * i]->text, "presets") != 0)
            return unknown(r, n->at[2 * i], "defaults", keys, 1);
        if (read_words(r, n->at[2 * i + 1], "presets", &c->defaults) < 0)
            return -1;
    }
    return 0;
}

static int read_pattern(struct reading *r, const struct ynode *value, const char **out)
{
    struct bk_err why;
    if (read_text(r, value, "command-pattern", out) < 0)
        return -1;
    if (regex_check(*out, strlen(*out), &why) == 0)
        return 0;
    err_set(r->err, BK_E_INPUT, "command-pattern %.80s: %.200s", *out, why.msg);
    return ytree_fail(r->name, value, r->err);
}

static int read_auto(struct reading *r, const struct ynode *n, struct preset_auto *rule)
{
    static const char *const keys[] = {"command", "command-pattern", "presets"};
    if (n->kind != YNODE_MAP)
        return wrong(r, n, "auto-presets", "a map");
    rule->line = n->line;
    for (size_t i = 0; i < n->n; i++) {
        const struct ynode *key = n->at[2 * i], *value = n->at[2 * i + 1];
        int result;
        if (strcmp(key->text, "command") == 0)
            result = read_text(r, value, "command", &rule->command);
        else if (strcmp(key->text, "command-pattern") == 0)
            result = read_pattern(r, value, &rule->pattern);
        else if (strcmp(key->text, "presets") == 0)
            result = read_words(r, value, "presets", &rule->presets);
        else
            return unknown(r, key, "auto-presets", keys, 3);
        if (result < 0)
            return -1;
    }
    if (rule->command || rule->pattern)
        return 0;
    err_set(r->err, BK_E_INPUT, "auto-presets: an entry has neither command nor command-pattern");
    return ytree_fail(r->name, n, r->err);
}

static int read_autos(struct reading *r, const struct ynode *n, struct preset_config *c)
{
    if (is_nothing(n))
        return 0;
    if (n->kind != YNODE_LIST)
        return wrong(r, n, "auto-presets", "a list");
    c->autos = arena_array(r->arena, n->n + 1, sizeof(*c->autos));
    if (!c->autos)
        return err_nomem(r->err);
    for (size_t i = 0; i < n->n; i++, c->nautos++)
        if (count(r, n->at[i]) < 0 || read_auto(r, n->at[i], &c->autos[i]) < 0)
            return -1;
    return 0;
}

/* ---- the file ---- */

static int read_root(struct reading *r, const struct ynode *root, struct preset_config *c)
{
    static const char *const keys[] = {"presets", "defaults", "auto-presets"};
    if (root->kind != YNODE_MAP)
        return wrong(r, root, "the file", "a map");
    for (size_t i = 0; i < root->n; i++) {
        const struct ynode *key = root->at[2 * i], *value = root->at[2 * i + 1];
        int result = 0;
        if (strcmp(key->text, "presets") == 0)
            result = read_presets(r, value, c);
        else if (strcmp(key->text, "defaults") == 0)
            result = read_defaults(r, value, c);
        else if (strcmp(key->text, "auto-presets") == 0)
            result = read_autos(r, value, c);
        else if (strncmp(key->text, "x-", 2) != 0)
            return unknown(r, key, "the file", keys, 3);
        if (result < 0)
            return -1;
    }
    return 0;
}

int preset_parse(struct arena *a, const char *name, const char *text, size_t n,
                 struct preset_config *out, struct bk_err *err)
{
    struct bk_err ignored;
    struct reading r = {.arena = a, .name = name, .err = err ? err : &ignored};
    struct preset_config c = {.file = name, .shipped = out->shipped, .nshipped = out->nshipped};
    struct ynode *root;
    if (ytree_read(a, name, text, n, &root, r.err) < 0 || (root && read_root(&r, root, &c) < 0))
        return -1;
    *out = c;
    return 0;
}

static int load_file(struct arena *a, const char *path, struct preset_config *out,
                     struct bk_err *err)
{
    struct source_map map;
    source_map_init(&map, a);
    const struct source *s = source_read(&map, path, err);
    return s ? preset_parse(a, s->name, s->text, s->len, out, err) : -1;
}

int preset_load(struct arena *a, const char *path, struct preset_config *out, struct bk_err *err)
{
    static const char *const names[] = {"presets.yaml", "presets.yml"};
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (path)
        return load_file(a, path, out, err);
    for (int place = 0; place < 2; place++) {
        const char *folder = place ? home : xdg;
        for (size_t i = 0; folder && folder[0] == '/' && i < 2; i++) {
            char file[PATH_MAX];
            int n = snprintf(file, sizeof(file), "%s%s/cage/%s", folder, place ? "/.config" : "",
                             names[i]);
            if ((size_t)n >= sizeof(file))
                continue;
            if (load_file(a, file, out, err) == 0)
                return 0;
            if (err->code != BK_E_SYSTEM || (err->sys != ENOENT && err->sys != ENOTDIR))
                return -1;
        }
    }
    *out = (struct preset_config){.shipped = out->shipped, .nshipped = out->nshipped};
    return 0;
}
