/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * On most machines no two mounts show the same files, and nothing folds case. Two flags say so, and
 * then a check costs nothing extra. What we cannot find out is denied.
 */

#include "kernel/host/file-names.h"

#include <string.h>

#include "kernel/host/case-fold.h"

void file_names_open(struct file_names *n, int fd, const struct mounts_view *like)
{
    mounts_open(&n->mounts, fd);
    if (!like)
        return;
    n->mounts.nfolding = like->nfolding;
    memcpy(n->mounts.folding, like->folding, sizeof(like->folding));
}

static struct graph_fact name_fact(const struct mount_name *name)
{
    return (struct graph_fact){
        .filter = FILTER_PATH, .str = name->path, .len = (uint32_t)name->len};
}

size_t file_names_facts(struct file_names *n, const char *path, size_t len, struct graph_fact *out)
{
    const struct mounts *m = mounts_now(&n->mounts, false);
    size_t seen = 0;
    n->names.n = n->hidden = 0;
    if (!m || !m->aliased || len == 0 || path[0] != '/')
        return 0;
    if (mounts_names(m, path, len, &n->names) < 0) {
        n->names.n = MOUNT_NAMES + 1;
        return 0;
    }
    for (; seen < n->names.n && !n->names.at[seen].hidden; seen++)
        out[seen] = name_fact(&n->names.at[seen]);
    n->hidden = n->names.n - seen;
    return seen;
}

static const struct graph_verdict refused = {.flags = VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT,
                                             .rule = GRAPH_NO_RULE};

static bool take_graph(struct file_names *n, const struct graph *g)
{
    if (n->of == g && n->cache)
        return true;
    graph_cache_free(n->cache);
    graph_folded_free(n->folded);
    n->of = g;
    n->folded = graph_folded(g);
    n->cache = n->folded ? graph_cache_new(n->folded) : NULL;
    return n->cache != NULL;
}

enum { FACTS = 16 + MOUNT_NAMES };

/* Repeats the check on the folded names. */
static struct graph_verdict eval_folded(struct file_names *n, const struct graph *g,
                                        const struct graph_query *q)
{
    struct graph_fact facts[FACTS];
    struct graph_query folded = *q;
    size_t inner = 0;
    if (q->nfacts > FACTS || !take_graph(n, g) ||
        case_fold_is_short(q->facts[0].str, q->facts[0].len))
        return refused;
    for (size_t i = 0; i < q->nfacts; i++) {
        facts[i] = q->facts[i];
        if (facts[i].filter != FILTER_PATH || facts[i].len >= MOUNT_PATH)
            continue;
        char *text = i == 0 || inner == MOUNT_NAMES ? n->text : n->inner[inner++];
        facts[i].len = (uint32_t)case_fold_path(facts[i].str, facts[i].len, text);
        facts[i].str = text;
    }
    folded.facts = facts;
    return graph_eval(n->folded, n->cache, &folded);
}

/* Repeats the check on names that another mount hides. */
static struct graph_verdict eval_hidden(const struct file_names *n, const struct graph *g,
                                        struct graph_cache *cache, const struct graph_query *q)
{
    struct graph_fact facts[FACTS];
    struct graph_query more = *q;
    if (q->nfacts + n->hidden > FACTS)
        return refused;
    memcpy(facts, q->facts, q->nfacts * sizeof(*facts));
    for (size_t i = n->names.n - n->hidden; i < n->names.n; i++)
        facts[more.nfacts++] = name_fact(&n->names.at[i]);
    more.facts = facts;
    return graph_eval(g, cache, &more);
}

struct graph_verdict file_names_eval(struct file_names *n, const struct graph *g,
                                     struct graph_cache *cache, const struct graph_query *q)
{
    struct graph_verdict v = graph_eval(g, cache, q);
    const struct graph_fact *path = &q->facts[0];
    const struct mounts *m = &n->mounts.now;
    if (!v.allow || q->nfacts == 0 || path->filter != FILTER_PATH)
        return v;
    if (n->names.n > MOUNT_NAMES)
        return refused;
    if (n->hidden) {
        struct graph_verdict by_hidden = eval_hidden(n, g, cache, q);
        if (!by_hidden.allow)
            return by_hidden;
    }
    if (!m->folds || path->len == 0 || path->str[0] != '/')
        return v;
    const struct mount_at *on = mounts_find(m, path->str, path->len);
    if (!on || !on->folds)
        return v;
    struct graph_verdict folded = eval_folded(n, g, q);
    return folded.allow ? v : folded;
}
