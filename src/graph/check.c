/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Checks the promises of graph.h once for every graph, whatever its producer: indices are in range
 * and edges lead down. Everything that walks a graph relies on this.
 */

#include "graph/graph-int.h"

static bool range_fits(uint32_t first, uint32_t n, uint32_t total)
{
    return first <= total && n <= total - first;
}

static bool node_holds(const struct graph *g, uint32_t node)
{
    const struct graph_node *n = &g->nodes[node];
    if (n->rule >= g->nrules && n->rule != GRAPH_NO_RULE)
        return false;
    if (n->kind == GRAPH_NODE_FILTER)
        return n->test < g->ntests && n->match < node && n->unmatch < node &&
               n->match != n->unmatch;
    return n->kind == GRAPH_NODE_DECISION && range_fits(n->mods, n->nmods, g->nmods) &&
           n->allow == !(n->flags & VOCAB_FLAG_DENY);
}

static bool rule_holds(const struct graph *g, uint32_t rule)
{
    const struct graph_rule_info *r = &g->rules[rule];
    const struct rule_body *body = &g->bodies[rule];
    if (r->policy > g->npolicies || !range_fits(body->item, body->nitems, g->nitems))
        return false;
    for (uint32_t i = 0; i < r->nops; i++)
        if (r->ops[i] >= OP_COUNT)
            return false;
    return true;
}

int graph_check(const struct graph *g, struct bk_err *err)
{
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (!node_holds(g, i))
            return err_set(err, BK_E_BUG, "node %u of the policy graph is malformed", i);
    for (uint32_t i = 0; i < g->ntests; i++)
        if (g->tests[i].filter >= FILTER_COUNT || g->tests[i].how > GRAPH_FLAG)
            return err_set(err, BK_E_BUG, "test %u of the policy graph is malformed", i);
    for (uint32_t i = 0; i < g->nrules; i++)
        if (!rule_holds(g, i))
            return err_set(err, BK_E_BUG, "rule %u of the policy graph is malformed", i);
    for (size_t i = 0; i < ((size_t)g->npolicies + 1) * OP_COUNT; i++)
        if (g->entry_nodes[i] >= g->nnodes)
            return err_set(err, BK_E_BUG, "an entry of the policy graph leads nowhere");
    return 0;
}
