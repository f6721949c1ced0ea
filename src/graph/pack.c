/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A graph in one arena, with its index, for other processes to map (kernel/shared/image.h). */

#include <stdlib.h>

#include "base/packer.h"
#include "graph/graph-int.h"

static void pack_tests(struct packer *k, struct graph *g)
{
    g->tests = pack(k, g->tests, g->ntests, sizeof(*g->tests));
    for (uint32_t i = 0; i < g->ntests && !k->full; i++)
        g->tests[i].str = pack_string(k, g->tests[i].str, g->tests[i].len);
    g->mods = pack(k, g->mods, g->nmods, sizeof(*g->mods));
    for (uint32_t i = 0; i < g->nmods && !k->full; i++)
        g->mods[i].str = pack_word(k, g->mods[i].str);
}

static void pack_rules(struct packer *k, struct graph *g)
{
    g->rules = pack(k, g->rules, g->nrules, sizeof(*g->rules));
    for (uint32_t i = 0; i < g->nrules && !k->full; i++) {
        struct graph_rule_info *r = &g->rules[i];
        const struct graph_origin from = r->origin;
        r->origin.file = pack_word(k, from.file);
        r->origin.text = pack_string(k, from.text, from.text ? strlen(from.text) : 0);
        r->origin.raw = pack_string(k, from.raw, from.raw ? strlen(from.raw) : 0);
        r->ops = pack(k, r->ops, r->nops, sizeof(*r->ops));
    }
    g->bodies = pack(k, g->bodies, g->nrules, sizeof(*g->bodies));
    g->items = pack(k, g->items, g->nitems, sizeof(*g->items));
}

static void pack_entries(struct packer *k, struct graph *g)
{
    size_t n = (size_t)(1 + g->npolicies) * OP_COUNT, distinct = 0;
    for (size_t i = 0; i < n; i++)
        if (g->entry_index[i] >= distinct)
            distinct = (size_t)g->entry_index[i] + 1;
    g->entry_nodes = pack(k, g->entry_nodes, n, sizeof(*g->entry_nodes));
    g->entry_index = pack(k, g->entry_index, n, sizeof(*g->entry_index));
    g->entries = pack(k, g->entries, distinct, sizeof(*g->entries));
}

static void pack_notes(struct packer *k, struct graph *g)
{
    for (struct note **at = &g->notes; *at && !k->full; at = &(*at)->next) {
        *at = pack(k, *at, 1, sizeof(**at));
        if (!*at)
            return;
        (*at)->key = pack_word(k, (*at)->key);
        (*at)->value = pack_word(k, (*at)->value);
    }
}

/* The index allocates from the graph's own arena. */
static int pack_index(struct graph *g, struct arena *into)
{
    struct bk_err err;
    g->arena = *into;
    int r = graph_index(g, &err);
    *into = g->arena;
    g->arena = (struct arena){0};
    return r;
}

const struct graph *graph_pack(const struct graph *g, struct arena *into)
{
    struct packer k = {.into = into};
    struct graph *copy = pack(&k, g, 1, sizeof(*g));
    if (!copy)
        return NULL;
    graph_forget_index(copy);
    memset(&copy->lock, 0, sizeof(copy->lock));
    copy->nodes = pack(&k, g->nodes, g->nnodes, sizeof(*g->nodes));
    pack_tests(&k, copy);
    pack_rules(&k, copy);
    pack_entries(&k, copy);
    pack_notes(&k, copy);
    return k.full || pack_index(copy, into) < 0 ? NULL : copy;
}

struct graph *graph_unpack(const struct graph *packed)
{
    struct graph *g = malloc(sizeof(*g));
    if (!g)
        return NULL;
    *g = *packed;
    g->lent = true;
    arena_init(&g->arena, g->opt.max_bytes);
    pthread_mutex_init(&g->lock, NULL);
    return g;
}
