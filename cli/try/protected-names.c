/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which protected names a world has changed. The default profile and Buckle's own rules say so,
 * whatever policy the command had: keeping changes the user's files, and the user may not remember
 * that policy. It may also have let the command write such names, as nothing was real yet.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "cli/try/world-show.h"
#include "graph/eval.h"
#include "graph/graph.h"
#include "run/own-rules.h"
#include "run/protected-policy.h"
#include "vocab/protected-classes.h"

/* The rules are compiled when the first name is asked about: most commands change nothing. */
struct names {
    const struct world *w;
    bool compiled, failed;
    struct bk_err err;
    struct protected_policy policy;
    struct graph_cache *cache;
    bool named[WORLD_PLACES]; /* a policy has opened this place although it is protected */
};

enum { TYPE_FILE = 1, TYPE_FOLDER = 2, TYPE_SYMLINK = 5 }; /* of (vnode-type …) */

static int64_t type_of(uint32_t mode)
{
    return S_ISDIR(mode) ? TYPE_FOLDER : S_ISLNK(mode) ? TYPE_SYMLINK : TYPE_FILE;
}

/* No policy opens what Buckle's own rules deny. */
static bool is_own(const struct graph *g, uint32_t rule)
{
    return strcmp(graph_rule_at(g, rule)->origin.file, OWN_RULES) == 0;
}

/* The class of the rule that denies this, PROTECTED_NO_CLASS if it has none, or WORLD_PLAIN. named:
 * somebody has opened the folder around it. */
static unsigned ask(const struct names *n, enum vocab_op op, const char *path, uint32_t mode,
                    bool named)
{
    static const char removal[] = "buckle.removal"; /* nothing moves, so nothing is planted */
    const struct graph_fact facts[] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)},
        {.filter = FILTER_VNODE_TYPE, .num = type_of(mode)},
        graph_extension_fact(removal)};
    const struct graph *g = n->policy.policy.graph;
    struct graph_query q = {
        .op = op, .facts = facts, .nfacts = 2 + (size_t)(op == OP_FILE_WRITE_UNLINK)};
    struct graph_verdict v = graph_eval(g, n->cache, &q);
    if (v.allow || !graph_denies_protected(g, graph_node_at(g, v.node)))
        return WORLD_PLAIN;
    enum protected_class class = protected_class_of_message(graph_rule_message(g, v.rule));
    return class == PROTECTED_NO_CLASS && named && !is_own(g, v.rule) ? WORLD_PLAIN : class;
}

static int compile(struct names *n, struct bk_err *err)
{
    n->compiled = true;
    if (protected_policy_open(&n->policy, n->w->cwd, err) < 0)
        return -1;
    n->cache = graph_cache_new(n->policy.policy.graph);
    if (!n->cache)
        return err_nomem(err);
    for (size_t i = 0; i < n->w->nplaces; i++)
        n->named[i] =
            ask(n, OP_FILE_WRITE_CREATE, n->w->places[i].path, S_IFDIR, false) != WORLD_PLAIN;
    return 0;
}

static unsigned classify(void *arg, const char *path, const struct change *c)
{
    struct names *n = arg;
    unsigned class = WORLD_PLAIN;
    bool named;
    if (!n->compiled && !n->failed)
        n->failed = compile(n, &n->err) < 0;
    if (n->failed)
        return WORLD_PLAIN;
    named = n->named[c->place];
    bool gone = c->kind == CHANGE_REMOVED;
    bool replaced = (c->old_mode & S_IFMT) != (gone ? 0 : c->new_mode & S_IFMT);
    if (!gone) /* rules about symlinks are about creating them */
        class = ask(n, replaced || S_ISLNK(c->new_mode) ? OP_FILE_WRITE_CREATE : OP_FILE_WRITE_DATA,
                    path, c->new_mode, named);
    if (class == WORLD_PLAIN && c->old_mode && replaced)
        class = ask(n, OP_FILE_WRITE_UNLINK, path, c->old_mode, named);
    return class;
}

int world_changes(const struct world *w, struct changes *out, struct bk_err *err)
{
    struct names n = {.w = w};
    *out = (struct changes){.n = 0};
    int result = changes_read(w, classify, &n, out, err);
    if (result == 0 && n.failed) {
        *err = n.err;
        result = -1;
    }
    if (result == 0)
        world_look_at_git(w, out);
    graph_cache_free(n.cache);
    if (n.compiled)
        protected_policy_close(&n.policy);
    return result;
}
