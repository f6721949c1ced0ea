/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network. Where the policy allows no Internet address whatever its name, a network namespace
 * with nothing in it is all it takes. Where it allows some, what leaves goes through the gate.
 */

#include <string.h>

#include "kernel/plan-int.h"

/* Whether a test could hold for an Internet address: those about paths and Unix sockets cannot. */
static bool could_match(const struct graph_test *t)
{
    if (t->filter == FILTER_PATH)
        return false;
    return t->filter != FILTER_REMOTE || !(t->net.proto & NET_UNIX);
}

bool plan_reaches_addresses(struct plan *p, const struct graph *g, enum vocab_op op)
{
    uint32_t entry = graph_entry(g, op);
    uint8_t *reached = arena_alloc(&p->arena, (size_t)entry + 1);
    if (!reached)
        return true;
    memset(reached, 0, (size_t)entry + 1);
    reached[entry] = 1;
    for (uint32_t i = entry + 1; i-- > 0;) {
        const struct graph_node *node = graph_node_at(g, i);
        if (!reached[i])
            continue;
        if (node->kind == GRAPH_NODE_DECISION) {
            if (node->allow)
                return true;
            continue;
        }
        if (could_match(graph_test_at(g, node->test)))
            reached[node->match] = 1;
        reached[node->unmatch] = 1;
    }
    return false;
}
