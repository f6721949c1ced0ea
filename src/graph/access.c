/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Reading a graph from outside this folder. An index out of range is a caller's bug. Operation and
 * policy numbers come from users, so these functions return a node even for an invalid one. */

#include <string.h>

#include "graph/eval.h"
#include "graph/graph-int.h"

const struct graph_options *graph_options_of(const struct graph *g)
{
    return &g->opt;
}

uint32_t graph_node_count(const struct graph *g)
{
    return g->nnodes;
}

const struct graph_node *graph_node_at(const struct graph *g, uint32_t node)
{
    return node < g->nnodes ? &g->nodes[node] : NULL;
}

uint32_t graph_test_count(const struct graph *g)
{
    return g->ntests;
}

const struct graph_test *graph_test_at(const struct graph *g, uint32_t test)
{
    return test < g->ntests ? &g->tests[test] : NULL;
}

const struct graph_mod *graph_mod_at(const struct graph *g, uint32_t mod)
{
    return mod < g->nmods ? &g->mods[mod] : NULL;
}

uint32_t graph_rule_count(const struct graph *g)
{
    return g->nrules;
}

const struct graph_rule_info *graph_rule_at(const struct graph *g, uint32_t rule)
{
    return rule < g->nrules ? &g->rules[rule] : NULL;
}

int graph_rule_set_text(struct graph *g, uint32_t rule, const char *text)
{
    const char *own = rule < g->nrules ? arena_strndup(&g->arena, text, strlen(text)) : NULL;
    if (own)
        g->rules[rule].origin.text = own;
    return own ? 0 : -1;
}

int graph_rule_set_raw(struct graph *g, uint32_t rule, const char *raw, size_t n)
{
    const char *own = rule < g->nrules ? arena_strndup(&g->arena, raw, n) : NULL;
    if (own)
        g->rules[rule].origin.raw = own;
    return own ? 0 : -1;
}

uint32_t graph_policy_count(const struct graph *g)
{
    return g->npolicies;
}

uint32_t graph_policy_entry(const struct graph *g, uint32_t policy, enum vocab_op op)
{
    struct graph_query q = {.op = (uint16_t)op, .policy = policy};
    const struct entry *e = graph_entry_of(g, &q);
    return e ? e->node : g->entry_nodes[OP_DEFAULT];
}

uint32_t graph_entry(const struct graph *g, enum vocab_op op)
{
    return graph_policy_entry(g, 0, op);
}

const char *graph_note(const struct graph *g, const char *key)
{
    for (const struct note *n = g->notes; n; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n->value;
    return NULL;
}

bool graph_uniform(const struct graph *g, enum vocab_op op, uint32_t *node)
{
    struct graph_query q = {.op = (uint16_t)op};
    const struct entry *e = graph_entry_of(g, &q);
    if (!e || e->uniform == GRAPH_NONE)
        return false;
    *node = e->uniform;
    return true;
}

void graph_set_source(struct graph *g, enum rule_source source)
{
    for (uint32_t i = 0; i < g->nrules; i++)
        g->rules[i].origin.source = source;
}
