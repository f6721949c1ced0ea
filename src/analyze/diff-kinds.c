/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Compares two graphs kind by kind. The filter with the most tests is fixed to one kind of argument
 * after the other. Following its tests is cheap, and the remaining diagrams are small.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"

enum { MAX_FOLLOWED = 400 << 20 }; /* tests, in one comparison */

/* Follows tests of the filter, given kind k. */
static uint32_t follow(struct differ *d, int side, uint32_t node, uint16_t filter, uint32_t k)
{
    const struct graph *g = d->g[side];
    while (g->nodes[node].kind == GRAPH_NODE_FILTER) {
        const struct graph_node *n = &g->nodes[node];
        uint32_t test = d->tests.index[side][n->test];
        if (d->tests.at[test]->filter != filter)
            break;
        node = d->tests.kinds_of[test][k / 64] >> (k % 64) & 1 ? n->match : n->unmatch;
        d->followed++;
    }
    return node;
}

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void want(struct differ *d, int side, uint32_t node)
{
    if (d->seen[side][node] == d->stamp)
        return;
    d->seen[side][node] = d->stamp;
    d->stack[d->nstack++] = node;
}

/* The diagram of what remains of the graph below a node, given that kind. */
static uint32_t residual(struct differ *d, int side, uint32_t entry, uint16_t filter, uint32_t k)
{
    const struct graph *g = d->g[side];
    uint32_t *made = d->made[side], top = follow(d, side, entry, filter, k);
    d->stamp++;
    d->nstack = 0;
    want(d, side, top);
    for (uint32_t i = 0; i < d->nstack; i++) {
        const struct graph_node *n = &g->nodes[d->stack[i]];
        if (n->kind != GRAPH_NODE_FILTER)
            continue;
        want(d, side, follow(d, side, n->match, filter, k));
        want(d, side, follow(d, side, n->unmatch, filter, k));
    }
    qsort(d->stack, d->nstack, sizeof(*d->stack), descending);
    while (d->nstack--) {
        uint32_t i = d->stack[d->nstack];
        const struct graph_node *n = &g->nodes[i];
        if (n->kind == GRAPH_NODE_DECISION) {
            made[i] = diff_leaf(d, side, n);
            continue;
        }
        uint32_t yes = made[follow(d, side, n->match, filter, k)];
        uint32_t no = made[follow(d, side, n->unmatch, filter, k)];
        made[i] = bdd_choose(&d->bdd, d->var_of[d->tests.index[side][n->test]], yes, no);
        if (made[i] == BDD_NONE)
            return BDD_NONE;
    }
    return made[top];
}

/* Returns the filter with the most tests below both entries, FILTER_NONE when there is none. */
static uint16_t busiest(struct differ *d, const uint32_t entry[2])
{
    uint32_t counts[FILTER_COUNT] = {0};
    uint16_t best = FILTER_NONE;
    for (int s = 0; s < 2; s++) {
        d->stamp++;
        d->nstack = 0;
        want(d, s, entry[s]);
        while (d->nstack) {
            const struct graph_node *n = &d->g[s]->nodes[d->stack[--d->nstack]];
            if (n->kind != GRAPH_NODE_FILTER)
                continue;
            counts[d->g[s]->tests[n->test].filter]++;
            want(d, s, n->match);
            want(d, s, n->unmatch);
        }
    }
    for (uint16_t f = 0; f < FILTER_COUNT; f++)
        if (counts[f] && diff_is_single(f) && (best == FILTER_NONE || counts[f] > counts[best]))
            best = f;
    return best;
}

void diff_walk_kinds(struct differ *d, const uint32_t entry[2])
{
    uint16_t filter = busiest(d, entry);
    const struct dimension *dim = filter == FILTER_NONE ? NULL : diff_kinds(&d->tests, filter);
    if (!dim || d->followed > MAX_FOLLOWED) { /* nothing to settle, or too much */
        d->undecided = true;
        return;
    }
    size_t words = (dim->n + 63) / 64;
    d->left[filter].used = true;
    d->left[filter].at = 0;
    d->nsets = words;
    memset(d->sets, 0, words * sizeof(*d->sets));
    for (uint32_t k = 0; k < dim->n && !d->found && d->followed <= MAX_FOLLOWED; k++) {
        d->sets[k / 64] = UINT64_C(1) << (k % 64);
        uint32_t a = residual(d, 0, entry[0], filter, k);
        uint32_t b = a == BDD_NONE ? a : residual(d, 1, entry[1], filter, k);
        if (b == BDD_NONE)
            d->undecided = true;
        else
            diff_walk(d, a, b, 0);
        d->sets[k / 64] = 0;
    }
    d->undecided = d->undecided || d->followed > MAX_FOLLOWED;
    d->left[filter].used = false;
    d->nsets = 0;
    for (int s = 0; s < 2; s++) /* diagrams are valid for one kind only */
        memset(d->made[s], 0xff, sizeof(uint32_t) * d->g[s]->nnodes);
}
