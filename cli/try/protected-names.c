/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which protected names a world has changed. The default profile's rules say so, whatever policy
 * the command had: keeping changes the user's files, and the user may not remember that policy.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "cli/try/world-show.h"
#include "git/change.h"
#include "graph/eval.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "vocab/protected-classes.h"

enum { SETTINGS_MOST = 1 << 20 };

/* The rules are compiled when the first name is asked about: most commands change nothing. */
struct names {
    const char *cwd;
    bool compiled, failed;
    struct bk_err err;
    struct sbpl_unit unit;
    struct graph *graph;
    struct graph_cache *cache;
};

static int compile(struct names *n, struct bk_err *err)
{
    char real[PATH_MAX];
    const char *named = getenv("HOME"), *home = named ? realpath(named, real) : NULL;
    const struct sbpl_param params[] = {{"CWD", n->cwd}, {"HOME", home}};
    const struct sbpl_options opt = {
        .os = VOCAB_OS_ANY, .shipped_only = true, .params = params, .nparams = home ? 2 : 1};
    n->compiled = true;
    sbpl_unit_init(&n->unit, &opt);
    if (profile_add_shipped(&n->unit, "default", err) < 0 ||
        sbpl_compile(&n->unit, &n->graph, err) < 0)
        return -1;
    n->cache = graph_cache_new(n->graph);
    return n->cache ? 0 : err_nomem(err);
}

static unsigned classify(void *arg, const char *path)
{
    static const uint16_t ops[] = {OP_FILE_WRITE_CREATE, OP_FILE_WRITE_DATA, OP_FILE_WRITE_UNLINK};
    struct names *n = arg;
    if (!n->compiled && !n->failed)
        n->failed = compile(n, &n->err) < 0;
    if (n->failed)
        return PROTECTED_NO_CLASS;
    struct graph_fact fact = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct graph_query q = {.op = ops[i], .facts = &fact, .nfacts = 1};
        struct graph_verdict v = graph_eval(n->graph, n->cache, &q);
        enum protected_class class =
            v.allow ? PROTECTED_NO_CLASS
                    : protected_class_of_message(graph_rule_message(n->graph, v.rule));
        if (class != PROTECTED_NO_CLASS)
            return class;
    }
    return PROTECTED_NO_CLASS;
}

/* ---- git's files ---- */

/* The judge reads the contents of these while a command runs, and so does this. */

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

/* Takes the descriptor. */
static bool read_settings(struct arena *a, int fd, struct git_config *plain,
                          struct git_config *spaced)
{
    struct bk_err err;
    OWN(fd) int owned = fd;
    char *text = owned < 0 ? NULL : arena_alloc(a, SETTINGS_MOST);
    ssize_t n = text ? fd_read_all(owned, text, SETTINGS_MOST) : -1;
    return n >= 0 && n < SETTINGS_MOST && git_config_read(a, text, (size_t)n, plain, &err) == 0 &&
           git_config_read_spaced(a, text, (size_t)n, spaced, &err) == 0;
}

static bool is_harmless_config(const struct world *w, const struct change *c)
{
    char folder[PATH_MAX * 2];
    struct git_config old[2] = {{0}}, new[2] = {{0}};
    struct git_finding found;
    OWN(arena) struct arena a;
    arena_init(&a, SETTINGS_MOST * 16);
    if (c->kind == CHANGE_REMOVED || !S_ISREG(c->new_mode) || !ends_in(c->path, ".git/config") ||
        (c->old_mode && !S_ISREG(c->old_mode)))
        return false;
    snprintf(folder, sizeof(folder), "%s/%s", w->places[c->place].path, c->path);
    folder[strlen(folder) - strlen("/config")] = '\0';
    const struct git_place place = {.gitdir = folder};
    if ((c->old_mode && !read_settings(&a, change_open_old(w, c), &old[0], &old[1])) ||
        !read_settings(&a, change_open_new(w, c), &new[0], &new[1]))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const struct git_config *was = c->old_mode ? &old[i] : NULL;
        if (!git_change_is_harmless(&a, &place, was, was, &new[i], &found))
            return false;
    }
    return true;
}

/* Samples have another name than the hooks that git runs. */
static bool is_harmless_hook(const struct change *c)
{
    return c->kind != CHANGE_REMOVED &&
           (S_ISDIR(c->new_mode) || (S_ISREG(c->new_mode) && ends_in(c->path, ".sample")));
}

static void look_at_git(const struct world *w, struct changes *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct change *one = &c->at[i];
        if (!(one->marks & MARK_PROTECTED))
            continue;
        if ((one->protected == PROTECTED_GIT_SETTINGS && is_harmless_config(w, one)) ||
            (one->protected == PROTECTED_GIT_HOOKS && is_harmless_hook(one))) {
            one->marks &= (uint8_t)~MARK_PROTECTED;
            one->protected = PROTECTED_NO_CLASS;
        }
    }
}

/* ---- all of it ---- */

int world_changes(const struct world *w, struct changes *out, struct bk_err *err)
{
    struct names n = {.cwd = w->cwd};
    *out = (struct changes){.n = 0};
    int result = changes_read(w, classify, &n, out, err);
    if (result == 0 && n.failed) {
        *err = n.err;
        result = -1;
    }
    if (result == 0)
        look_at_git(w, out);
    graph_cache_free(n.cache);
    graph_free(n.graph);
    if (n.compiled)
        sbpl_unit_free(&n.unit);
    return result;
}
