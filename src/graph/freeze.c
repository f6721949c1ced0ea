/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From builder to graph: compile, drop unreachable nodes, check, and build the index for evaluation
 * unless that can wait (see match.c). Renumbering keeps the order of nodes, so edges still lead to
 * smaller indices. The graph takes over the builder's arrays.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/build-int.h"
#include "graph/graph-int.h"

/* Stores every reachable node's new index in `map`, GRAPH_NONE for the others. Edges lead down, so
 * one pass from the top visits every node after all its predecessors. */
static uint32_t number_nodes(const struct graph *g, uint32_t *map)
{
    for (uint32_t i = 0; i < g->nnodes; i++)
        map[i] = GRAPH_NONE;
    for (size_t i = 0; i < ((size_t)g->npolicies + 1) * OP_COUNT; i++)
        map[g->entry_nodes[i]] = 0;
    for (uint32_t i = g->nnodes; i-- > 0;)
        if (map[i] == 0 && g->nodes[i].kind == GRAPH_NODE_FILTER)
            map[g->nodes[i].match] = map[g->nodes[i].unmatch] = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (map[i] == 0)
            map[i] = n++;
    return n;
}

static int drop_unreachable(struct graph *g, struct bk_err *err)
{
    uint32_t *map = malloc(sizeof(*map) * g->nnodes);
    if (!map)
        return err_nomem(err);
    uint32_t left = number_nodes(g, map);
    for (uint32_t i = 0; i < g->nnodes; i++) {
        if (map[i] == GRAPH_NONE)
            continue;
        struct graph_node n = g->nodes[i];
        if (n.kind == GRAPH_NODE_FILTER) {
            n.match = map[n.match];
            n.unmatch = map[n.unmatch];
        }
        g->nodes[map[i]] = n;
    }
    for (size_t i = 0; i < ((size_t)g->npolicies + 1) * OP_COUNT; i++)
        g->entry_nodes[i] = map[g->entry_nodes[i]];
    for (uint32_t i = 0; i < g->nrules; i++)
        if (g->bodies[i].decision != GRAPH_NONE)
            g->bodies[i].decision = map[g->bodies[i].decision];
    g->nnodes = left;
    free(map);
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool graph_same_decision(const struct graph *g, uint32_t a, uint32_t b)
{
    const struct graph_node *x = &g->nodes[a], *y = &g->nodes[b];
    if (x->allow != y->allow || x->flags != y->flags || x->nmods != y->nmods)
        return false;
    for (uint32_t i = 0; i < x->nmods; i++) {
        const struct graph_mod *m = &g->mods[x->mods + i], *o = &g->mods[y->mods + i];
        if (m->id != o->id || m->num != o->num || !same_text(m->str, o->str))
            return false;
    }
    return true;
}

/* What is below a node, computed bottom up. */
struct below {
    uint32_t uniform;
    uint32_t entry; /* index + 1 when operations begin here */
    uint64_t need[FILTER_WORDS], regex[FILTER_WORDS];
};

static void collect_below(const struct graph *g, struct below *below, uint32_t node)
{
    const struct graph_node *n = &g->nodes[node];
    struct below *b = &below[node];
    if (n->kind == GRAPH_NODE_DECISION) {
        *b = (struct below){.uniform = node};
        return;
    }
    const struct below *m = &below[n->match], *u = &below[n->unmatch];
    const struct graph_test *t = &g->tests[n->test];
    uint64_t bit = (uint64_t)1 << (t->filter % 64);
    for (size_t w = 0; w < FILTER_WORDS; w++) {
        b->need[w] = m->need[w] | u->need[w];
        b->regex[w] = m->regex[w] | u->regex[w];
    }
    b->entry = 0;
    b->need[t->filter / 64] |= bit;
    if (t->how == GRAPH_REGEX)
        b->regex[t->filter / 64] |= bit;
    b->uniform = GRAPH_NONE;
    if (m->uniform != GRAPH_NONE && u->uniform != GRAPH_NONE &&
        graph_same_decision(g, m->uniform, u->uniform))
        b->uniform = u->uniform;
}

static int list_entries(struct graph *g, struct below *below, struct bk_err *err)
{
    size_t n = ((size_t)g->npolicies + 1) * OP_COUNT;
    uint32_t distinct = 0;
    g->entry_index = arena_array(&g->arena, n, sizeof(*g->entry_index));
    for (size_t i = 0; g->entry_index && i < n; i++) {
        struct below *b = &below[g->entry_nodes[i]];
        if (!b->entry)
            b->entry = ++distinct;
        g->entry_index[i] = b->entry - 1;
    }
    g->entries = arena_array(&g->arena, distinct, sizeof(*g->entries));
    if (!g->entry_index || !g->entries)
        return err_set(err, BK_E_LIMIT, "the policy's entries need too much memory");
    for (size_t i = 0; i < n; i++) {
        const struct below *b = &below[g->entry_nodes[i]];
        struct entry *e = &g->entries[g->entry_index[i]];
        e->node = g->entry_nodes[i];
        e->uniform = b->uniform;
        memcpy(e->need, b->need, sizeof(e->need));
        memcpy(e->regex, b->regex, sizeof(e->regex));
    }
    return 0;
}

static int finish_entries(struct graph *g, struct bk_err *err)
{
    struct below *below = malloc(sizeof(*below) * g->nnodes);
    if (!below)
        return err_nomem(err);
    for (uint32_t i = 0; i < g->nnodes; i++)
        collect_below(g, below, i);
    int r = list_entries(g, below, err);
    free(below);
    return r;
}

struct graph *graph_freeze(struct graph_build *b, struct bk_err *err)
{
    struct graph *g = b->g;
    int r = b->policy ? err_set(err, BK_E_BUG, "a message filter was not ended") : 0;
    if (r == 0)
        r = graph_compile(b, err);
    if (r == 0)
        r = graph_report_uses(b, err);
    if (r == 0)
        r = drop_unreachable(g, err);
    if (r == 0)
        r = graph_check(g, err);
    if (r == 0)
        r = finish_entries(g, err);
    if (r == 0 && !graph_index_is_safe(g))
        r = graph_index(g, err);
    if (r == 0)
        b->g = NULL;
    graph_build_free(b);
    return r == 0 ? g : NULL;
}

void graph_free(struct graph *g)
{
    if (!g)
        return;
    pthread_mutex_destroy(&g->lock);
    arena_free(&g->arena);
    if (!g->lent) {
        free(g->nodes);
        free(g->tests);
        free(g->mods);
        free(g->rules);
        free(g->bodies);
        free(g->items);
    }
    free(g);
}
