/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A witness: an argument built from what the walk has settled, and both graphs' verdicts on it. */

#include "analyze/diff-int.h"
#include "graph/eval.h"

/* The shortest example of the remaining kinds. */
static const struct kind *example_of(const struct differ *d, uint16_t filter)
{
    const struct dimension *dim = &d->tests.dims[filter];
    const uint64_t *set = d->sets + d->left[filter].at;
    const struct kind *best = NULL;
    for (uint32_t k = 0; k < dim->n; k++) {
        const struct kind *x = &dim->kinds[k];
        if (set[k / 64] >> (k % 64) & 1 &&
            (!best || (best->absent && !x->absent) ||
             (!x->absent && x->fact.str && x->fact.len < best->fact.len)))
            best = x;
    }
    return best;
}

/* A Unix socket also gets endpoint facts, for tests of endpoints. */
static void add_unix_socket(struct differ *d)
{
    struct graph_difference *o = &d->out;
    const struct kind *domain =
        d->left[FILTER_SOCKET_DOMAIN].used ? example_of(d, FILTER_SOCKET_DOMAIN) : NULL;
    const struct kind *path = d->left[FILTER_PATH].used ? example_of(d, FILTER_PATH) : NULL;
    if (!domain || domain->absent || domain->fact.num != NET_DOMAIN_UNIX)
        return;
    for (int i = 0; i < 2 && o->nfacts < DIFF_FACTS; i++)
        o->facts[o->nfacts++] = (struct graph_fact){
            .filter = i ? FILTER_LOCAL : FILTER_REMOTE,
            .str = path && !path->absent ? path->fact.str : NULL,
            .len = path && !path->absent ? path->fact.len : 0,
            .net = {.proto = NET_UNIX, .port_hi = UINT16_MAX},
        };
}

static void ask_both(struct differ *d)
{
    struct graph_difference *o = &d->out;
    struct graph_query q = {.op = o->op, .facts = o->facts, .nfacts = o->nfacts};
    for (int s = 0; s < 2; s++) {
        q.policy = o->policy[s];
        o->verdict[s] = graph_eval(d->g[s], d->cache[s], &q);
        if (o->nested && !o->policy[s])
            o->verdict[s] = (struct graph_verdict){.allow = true, .rule = GRAPH_NO_RULE};
    }
}

void diff_show_region(struct differ *d)
{
    struct graph_difference *o = &d->out;
    o->nfacts = 0;
    if (d->region && !d->region->absent)
        o->facts[o->nfacts++] = d->region->fact;
    ask_both(d);
}

void diff_bear_witness(struct differ *d, bool same_verdict)
{
    struct graph_difference *o = &d->out;
    o->nfacts = 0;
    for (uint16_t f = 0; f < FILTER_COUNT && o->nfacts < DIFF_FACTS; f++) {
        const struct kind *k = d->left[f].used ? example_of(d, f) : NULL;
        if (k && !k->absent)
            o->facts[o->nfacts++] = k->fact;
    }
    for (size_t i = 0; i < d->nstrings && o->nfacts < DIFF_FACTS; i++)
        o->facts[o->nfacts++] = d->strings[i];
    for (uint32_t i = 0; i < d->tests.n && o->nfacts < DIFF_FACTS; i++) {
        const struct graph_test *t = d->tests.at[i];
        if (d->settled[i] == 1)
            o->facts[o->nfacts++] = (struct graph_fact){.filter = t->filter,
                                                        .str = t->str,
                                                        .len = t->len,
                                                        .num = t->how == GRAPH_FLAG ? 1 : t->num,
                                                        .net = t->net};
    }
    add_unix_socket(d);
    ask_both(d);
    bool differ = o->verdict[0].allow != o->verdict[1].allow ||
                  (!d->how.verdicts && o->verdict[0].flags != o->verdict[1].flags);
    if (differ || same_verdict)
        d->found = true;
    else
        d->undecided = true;
}
