/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether two graphs decide alike. Both become ordered decision diagrams (diff-bdd.c) over the
 * tests of both. If an operation's diagrams are identical, the graphs decide alike whatever the
 * tests' results. Otherwise both are walked together towards decisions that differ, along results
 * that an argument can produce: for strings, numbers and endpoints those that hold together
 * (diff-tests.c), for names and attributes, which may have several values, any.
 *
 * Conditions that combine many paths with a few names make diagrams large. In that case filters are
 * fixed first, kind by kind, and what remains of the graphs is compared for each (diff-kinds.c).
 *
 * So equality is proved. A difference is reported only if the evaluator decides a concrete argument
 * differently; if none was found, the result is "not decided".
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"
#include "base/own.h"
#include "graph/eval.h"

enum {
    MAX_STEPS = 4 << 20, /* per operation */
    MAX_DEPTH = 20000,
    MAX_BYTES = 128 << 20,
    MAX_KINDS_BYTES = 256 << 20,
    MAX_SETS = 32 << 20, /* bytes of remaining kinds, on one path down */
    MAX_PAIRS = 4096,    /* message filters compared per operation */
    FEW_NODES = 1 << 15, /* of diagrams over all tests */
    MANY_NODES = 4 << 20,
    FEW_STEPS = 1 << 17,
    MANY_STEPS = 16 << 20,
    MAX_VISITS = 120 << 20, /* of nodes, kind by kind, in one comparison of two graphs */
    SAMPLE_VISITS = 8 << 20,
};

/* ---- leaves ---- */

static const struct graph_mod *next_mod(const struct graph *g, const struct graph_node *n,
                                        uint32_t *i)
{
    while (*i < n->nmods) {
        const struct graph_mod *m = &g->mods[n->mods + (*i)++];
        if (m->id != MOD_MESSAGE_FILTER)
            return m;
    }
    return NULL;
}

static bool same_mods(const struct graph *g, const struct graph_node *a, const struct graph *h,
                      const struct graph_node *b)
{
    for (uint32_t i = 0, k = 0;;) {
        const struct graph_mod *x = next_mod(g, a, &i), *y = next_mod(h, b, &k);
        if (!x || !y)
            return x == y;
        if (x->id != y->id || x->num != y->num ||
            strcmp(x->str ? x->str : "", y->str ? y->str : ""))
            return false;
    }
}

static bool same_but_filter(const struct differ *d, const struct decision *a,
                            const struct decision *b)
{
    if (a->node->allow != b->node->allow)
        return false;
    return d->how.verdicts ||
           (a->node->flags == b->node->flags && same_mods(a->g, a->node, b->g, b->node));
}

static uint32_t policy_of(const struct graph *g, const struct graph_node *n)
{
    for (uint32_t i = 0; i < n->nmods; i++)
        if (g->mods[n->mods + i].id == MOD_MESSAGE_FILTER)
            return (uint32_t)g->mods[n->mods + i].num;
    return 0;
}

uint32_t diff_leaf(struct differ *d, int side, const struct graph_node *n)
{
    struct decision x = {.g = d->g[side], .node = n};
    uint32_t i = 0;
    x.policy[side] = d->how.verdicts ? 0 : policy_of(x.g, n);
    x.filter = d->filters[side] ? d->filters[side][x.policy[side]] : 0;
    while (i < d->ndecisions &&
           (d->decisions[i].filter != x.filter || !same_but_filter(d, &d->decisions[i], &x)))
        i++;
    if (i == d->ndecisions) {
        if (d->ndecisions == d->cap_decisions) {
            uint32_t cap = d->cap_decisions ? d->cap_decisions * 2 : 64;
            struct decision *more = arena_array(&d->arena, cap, sizeof(*more));
            if (!more)
                return BDD_NONE;
            if (d->ndecisions)
                memcpy(more, d->decisions, sizeof(*more) * d->ndecisions);
            d->decisions = more;
            d->cap_decisions = cap;
        }
        d->decisions[d->ndecisions++] = x;
    }
    if (x.policy[side])
        d->decisions[i].policy[side] = x.policy[side];
    return bdd_leaf(&d->bdd, i);
}

/* ---- diagrams ---- */

/* Orders tests as the first graph's chains have them, then the second's: nodes made from the bottom
 * then mostly go on top. */
static bool order_tests(struct differ *d)
{
    uint32_t n = 0;
    d->var_of = arena_array(&d->arena, d->tests.n + 1u, sizeof(*d->var_of));
    d->test_of = arena_array(&d->arena, d->tests.n + 1u, sizeof(*d->test_of));
    if (!d->var_of || !d->test_of)
        return false;
    memset(d->var_of, 0xff, sizeof(*d->var_of) * (d->tests.n + 1u));
    for (int s = 0; s < 2; s++)
        for (uint32_t i = d->g[s]->nnodes; i-- > 0;) {
            const struct graph_node *node = &d->g[s]->nodes[i];
            uint32_t test =
                node->kind == GRAPH_NODE_FILTER ? d->tests.index[s][node->test] : d->tests.n;
            if (test < d->tests.n && d->var_of[test] == BDD_LEAF) {
                d->var_of[test] = n;
                d->test_of[n++] = test;
            }
        }
    return true;
}

/* Makes the diagram below a node, with all that it needs. BDD_NONE when that is too much. */
static uint32_t diagram(struct differ *d, int side, uint32_t entry)
{
    const struct graph *g = d->g[side];
    uint32_t *made = d->made[side];
    if (made[entry] != BDD_NONE || d->bdd.exhausted || d->large[side][entry])
        return made[entry];
    OWN(mem) bool *wanted = calloc(entry + 1u, sizeof(*wanted));
    if (!wanted)
        return BDD_NONE;
    wanted[entry] = true;
    for (uint32_t i = entry + 1; i-- > 0;)
        if (wanted[i] && made[i] == BDD_NONE && g->nodes[i].kind == GRAPH_NODE_FILTER)
            wanted[g->nodes[i].match] = wanted[g->nodes[i].unmatch] = true;
    for (uint32_t i = 0; i <= entry; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (!wanted[i] || made[i] != BDD_NONE)
            continue;
        made[i] = n->kind == GRAPH_NODE_DECISION
                      ? diff_leaf(d, side, n)
                      : bdd_choose(&d->bdd, d->var_of[d->tests.index[side][n->test]],
                                   made[n->match], made[n->unmatch]);
        if (made[i] == BDD_NONE) {
            d->large[side][entry] = true;
            return BDD_NONE;
        }
    }
    return made[entry];
}

/* ---- message filters ---- */

/* A policy as a row of diagrams; number 0 is a policy that allows everything. */
static bool number_filter(struct differ *d, int side, uint32_t policy, uint32_t *row)
{
    uint32_t m = 0, k = 0;
    for (uint16_t op = 0; op < OP_COUNT; op++) {
        if (!vocab_ops[op].message_filter)
            continue;
        row[m] = diagram(d, side, graph_policy_entry(d->g[side], policy, (enum vocab_op)op));
        if (row[m++] == BDD_NONE)
            return false;
    }
    while (k < d->nfilters && memcmp(d->message_rows + (size_t)k * m, row, m * sizeof(*row)) != 0)
        k++;
    if (k == d->nfilters)
        memcpy(d->message_rows + (size_t)d->nfilters++ * m, row, m * sizeof(*row));
    d->filters[side][policy] = k;
    return true;
}

static bool number_filters(struct differ *d)
{
    uint32_t all = d->g[0]->npolicies + d->g[1]->npolicies, row[OP_COUNT];
    static const struct graph_node plain = {.kind = GRAPH_NODE_DECISION, .allow = true};
    uint32_t *filters[2];
    for (uint16_t op = 0; op < OP_COUNT; op++)
        d->nmessages += vocab_ops[op].message_filter;
    d->message_rows =
        arena_array(&d->arena, (size_t)(all + 1) * d->nmessages, sizeof(*d->message_rows));
    for (int s = 0; s < 2; s++)
        filters[s] = arena_array(&d->arena, d->g[s]->npolicies + 1u, sizeof(**filters));
    uint32_t allow = diff_leaf(d, 0, &plain);
    if (!d->message_rows || !filters[0] || !filters[1] || allow == BDD_NONE)
        return false;
    for (uint32_t m = 0; m < d->nmessages; m++)
        d->message_rows[m] = allow;
    d->nfilters = 1;
    for (int s = 0; s < 2; s++) {
        d->filters[s] = filters[s];
        for (uint32_t p = 1; p <= d->g[s]->npolicies; p++)
            if (!number_filter(d, s, p, row))
                return false;
        /* decisions with a filter were made before their filter had a number */
        memset(d->made[s], 0xff, sizeof(uint32_t) * d->g[s]->nnodes);
    }
    return true;
}

/* ---- two decisions ---- */

/* Filters that differ are compared after the walk. */
static void note_pair(struct differ *d, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < d->npairs; i++)
        if (d->pairs[i][0] == a && d->pairs[i][1] == b)
            return;
    if (d->npairs == MAX_PAIRS) {
        d->undecided = true;
        return;
    }
    d->pairs[d->npairs][0] = a;
    d->pairs[d->npairs++][1] = b;
}

static void compare_decisions(struct differ *d, uint32_t a, uint32_t b)
{
    const struct decision *x = &d->decisions[a], *y = &d->decisions[b];
    bool same = x->node->allow == y->node->allow && x->node->flags == y->node->flags;
    if (same_but_filter(d, x, y))
        note_pair(d, x->policy[0], y->policy[1]);
    else if (d->related)
        diff_related_witness(d);
    else
        diff_bear_witness(d, same);
}

/* ---- the walk ---- */

/* Initially all kinds of a filter remain. */
static bool begin_filter(struct differ *d, uint16_t filter, const struct dimension *dim)
{
    size_t words = (dim->n + 63) / 64;
    if (d->left[filter].used)
        return true;
    if (d->nsets + words > d->cap_sets)
        return false;
    uint64_t *set = d->sets + d->nsets;
    memset(set, 0xff, words * sizeof(*set));
    if (dim->n % 64)
        set[words - 1] = (UINT64_C(1) << (dim->n % 64)) - 1;
    d->left[filter].at = d->nsets;
    d->left[filter].used = true;
    d->nsets += words;
    return true;
}

/* Follows one result of a test as long as any kind for it remains. */
static bool along(struct differ *d, uint32_t test, bool holds, uint32_t a, uint32_t b,
                  unsigned depth)
{
    uint16_t filter = d->tests.at[test]->filter;
    size_t words = (d->tests.dims[filter].n + 63) / 64, at = d->nsets;
    if (at + words > d->cap_sets)
        return false;
    const uint64_t *had = d->sets + d->left[filter].at, *of = d->tests.kinds_of[test];
    uint64_t *now = d->sets + at, any = 0;
    for (size_t i = 0; i < words; i++)
        any |= now[i] = had[i] & (holds ? of[i] : ~of[i]);
    if (!any)
        return true;
    size_t before = d->left[filter].at;
    uint64_t state = d->state;
    d->left[filter].at = at;
    d->nsets += words;
    for (size_t i = 0; d->related && i < words; i++)
        d->state = diff_mix(d->state, now[i] + filter * UINT64_C(0x9e3779b1));
    diff_walk(d, a, b, depth + 1);
    d->state = state;
    d->nsets = at;
    d->left[filter].at = before;
    return true;
}

static bool branch_kinds(struct differ *d, uint32_t test, const uint32_t to[2][2], unsigned depth)
{
    uint16_t filter = d->tests.at[test]->filter;
    const struct dimension *dim = diff_kinds(&d->tests, filter);
    bool first = !d->left[filter].used, ok = dim && begin_filter(d, filter, dim);
    for (int holds = 0; holds < 2 && ok && !d->found; holds++)
        ok = along(d, test, holds, to[holds][0], to[holds][1], depth);
    if (first && d->left[filter].used) {
        d->left[filter].used = false;
        d->nsets = d->left[filter].at;
    }
    return ok;
}

static uint32_t below(const struct bdd *b, uint32_t node, uint32_t var, bool holds)
{
    const struct bdd_node *n = &b->nodes[node];
    return n->var != var ? node : holds ? n->hi : n->lo;
}

void diff_walk(struct differ *d, uint32_t a, uint32_t b, unsigned depth)
{
    if (a == b || d->found || (d->related && d->undecided))
        return;
    const struct bdd_node *x = &d->bdd.nodes[a], *y = &d->bdd.nodes[b];
    uint32_t var = x->var < y->var ? x->var : y->var;
    if (var == BDD_LEAF) {
        compare_decisions(d, x->hi, y->hi);
        return;
    }
    if (++d->steps > MAX_STEPS || depth > MAX_DEPTH) {
        d->undecided = true;
        return;
    }
    if (diff_related_seen(d, a, b))
        return;
    uint32_t test = d->test_of[var];
    const uint32_t to[2][2] = {{below(&d->bdd, a, var, false), below(&d->bdd, b, var, false)},
                               {below(&d->bdd, a, var, true), below(&d->bdd, b, var, true)}};
    if (diff_is_related(d, d->tests.at[test]->filter)) {
        diff_branch_related(d, test, to, depth);
        return;
    }
    if (diff_is_single(d->tests.at[test]->filter)) {
        d->undecided = !branch_kinds(d, test, to, depth) || d->undecided;
        return;
    }
    for (int holds = 0; holds < 2 && !d->found; holds++) {
        d->settled[test] = (int8_t)holds;
        diff_walk(d, to[holds][0], to[holds][1], depth + 1);
    }
    d->settled[test] = -1;
}

/* ---- operations ---- */

/* Only tests below both entries matter. */
static bool narrow(struct differ *d, const uint32_t entry[2])
{
    OWN(mem) bool *matters = calloc(d->tests.n + 1u, sizeof(*matters));
    for (int s = 0; s < 2 && matters; s++) {
        const struct graph *g = d->g[s];
        OWN(mem) bool *wanted = calloc(entry[s] + 1u, sizeof(*wanted));
        if (!wanted)
            return false;
        wanted[entry[s]] = true;
        for (uint32_t i = entry[s] + 1; i-- > 0;) {
            if (!wanted[i] || g->nodes[i].kind != GRAPH_NODE_FILTER)
                continue;
            wanted[g->nodes[i].match] = wanted[g->nodes[i].unmatch] = true;
            matters[d->tests.index[s][g->nodes[i].test]] = true;
        }
    }
    arena_free(&d->kinds);
    arena_init(&d->kinds, MAX_KINDS_BYTES);
    return matters && diff_tests_narrow(&d->tests, matters);
}

/* Whether both diagrams decide alike, as far as pairs of tests show. */
static bool are_related(struct differ *d, const uint32_t at[2])
{
    uint32_t pairs = d->npairs;
    if (at[0] == at[1])
        return true;
    bool begun = diff_related_begin(d);
    if (begun)
        diff_walk(d, at[0], at[1], 0);
    bool alike = begun && !d->undecided && !d->found;
    diff_related_end(d);
    d->undecided = false;
    d->steps = 0;
    if (!alike)
        d->npairs = pairs;
    return alike;
}

/* Compares kind by kind, with these visits at most. */
static void compare_kinds(struct differ *d, const uint32_t entry[2], uint64_t visits)
{
    d->undecided = d->bdd.exhausted = false;
    d->region = NULL;
    d->out.region = FILTER_NONE;
    d->max_followed = d->followed + visits;
    if (narrow(d, entry))
        diff_walk_kinds(d, entry);
    else
        d->undecided = true;
}

/* Looks for a difference among samples. That they show none proves nothing. */
static bool differs_in_samples(struct differ *d, const uint32_t entry[2])
{
    d->tests.sampling = true;
    compare_kinds(d, entry, SAMPLE_VISITS);
    d->tests.sampling = false;
    return d->found;
}

static void set_out(struct differ *d, uint16_t op, const uint32_t policies[2], bool nested)
{
    d->found = d->undecided = d->bdd.exhausted = false;
    d->bdd.limit = d->bdd.n + FEW_NODES;
    d->bdd.max_steps = d->bdd.steps + FEW_STEPS;
    d->steps = 0;
    d->region = NULL;
    d->out.op = op;
    d->out.nested = nested;
    d->out.region = FILTER_NONE;
    d->out.left = d->out.of = 0;
    for (int s = 0; s < 2; s++)
        d->out.policy[s] = policies[s];
}

/* The diagrams of both entries. False when they are too large: then what was made of them goes. */
static bool make_diagrams(struct differ *d, const uint32_t entry[2], bool nested, uint32_t at[2])
{
    uint32_t before = d->bdd.n;
    for (int s = 0; s < 2; s++)
        at[s] = nested && !d->out.policy[s] ? d->message_rows[0] /* allowed */
                                            : diagram(d, s, entry[s]);
    if (at[0] != BDD_NONE && at[1] != BDD_NONE)
        return true;
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < d->g[s]->nnodes; i++)
            if (d->made[s][i] != BDD_NONE && d->made[s][i] >= before)
                d->made[s][i] = BDD_NONE;
    bdd_rewind(&d->bdd, before);
    return false;
}

/* The cheapest way that decides it: by diagrams and pairs of tests, by samples, by all kinds. */
static void compare_nodes(struct differ *d, const uint32_t entry[2], bool nested)
{
    uint32_t at[2];
    if (!narrow(d, entry)) {
        d->undecided = true;
        return;
    }
    bool made = make_diagrams(d, entry, nested, at);
    if (made && (are_related(d, at) || d->found))
        return;
    if (nested) {
        d->undecided = !made;
        if (made)
            diff_walk(d, at[0], at[1], 0);
        return;
    }
    if (differs_in_samples(d, entry))
        return;
    uint64_t rest = d->followed < MAX_VISITS ? MAX_VISITS - d->followed : 0;
    compare_kinds(d, entry, rest);
}

static enum graph_equality compare_entries(struct differ *d, uint16_t op, uint32_t pa, uint32_t pb,
                                           bool nested)
{
    const uint32_t policies[2] = {pa, pb};
    const uint32_t entry[2] = {graph_policy_entry(d->g[0], pa, (enum vocab_op)op),
                               graph_policy_entry(d->g[1], pb, (enum vocab_op)op)};
    set_out(d, op, policies, nested);
    compare_nodes(d, entry, nested);
    if (d->undecided && !d->found)
        diff_show_region(d);
    return d->found ? GRAPH_DIFFERENT : d->undecided ? GRAPH_UNDECIDED : GRAPH_EQUAL;
}

static enum graph_equality worse(enum graph_equality a, enum graph_equality b)
{
    return a > b ? a : b;
}

static enum graph_equality compare_filters(struct differ *d, uint32_t pa, uint32_t pb,
                                           graph_diff_fn *each, void *arg)
{
    enum graph_equality all = GRAPH_EQUAL;
    for (uint16_t m = 0; m < OP_COUNT; m++) {
        if (!vocab_ops[m].message_filter)
            continue;
        enum graph_equality r = compare_entries(d, m, pa, pb, true);
        if (r != GRAPH_EQUAL)
            each(arg, r, &d->out);
        all = worse(all, r);
    }
    return all;
}

/* Most operations share their entry with others. */
static bool known_equal(const struct differ *d, const uint32_t at[2])
{
    for (uint32_t i = 0; i < d->nequal; i++)
        if (d->equal[i][0] == at[0] && d->equal[i][1] == at[1])
            return true;
    return false;
}

static enum graph_equality compare_all(struct differ *d, graph_diff_fn *each, void *arg)
{
    enum graph_equality all = GRAPH_EQUAL;
    for (uint16_t op = 0; op < OP_COUNT; op++) {
        if ((d->how.ops && !d->how.ops[op]) || vocab_ops[op].message_filter)
            continue;
        d->npairs = 0;
        const uint32_t at[2] = {graph_entry(d->g[0], (enum vocab_op)op),
                                graph_entry(d->g[1], (enum vocab_op)op)};
        if (known_equal(d, at))
            continue;
        enum graph_equality r = compare_entries(d, op, 0, 0, false);
        if (r == GRAPH_EQUAL)
            memcpy(d->equal[d->nequal++], at, sizeof(at));
        if (r != GRAPH_EQUAL)
            each(arg, r, &d->out);
        all = worse(all, r);
        for (uint32_t i = 0; r == GRAPH_EQUAL && i < d->npairs; i++)
            all = worse(all, compare_filters(d, d->pairs[i][0], d->pairs[i][1], each, arg));
    }
    return all;
}

static bool start(struct differ *d)
{
    d->tests.arena = &d->arena;
    d->out.facts = arena_array(&d->arena, DIFF_FACTS, sizeof(*d->out.facts));
    d->pairs = arena_array(&d->arena, MAX_PAIRS, sizeof(*d->pairs));
    if (!d->cache[0] || !d->cache[1] || !d->out.facts || !d->pairs || !bdd_init(&d->bdd) ||
        !diff_tests_join(&d->tests, d->g[0], d->g[1]) || !order_tests(d))
        return false;
    d->tests.arena = &d->kinds;
    d->cap_sets = MAX_SETS / sizeof(*d->sets);
    d->sets = malloc(MAX_SETS);
    d->settled = arena_alloc(&d->arena, d->tests.n + 1u);
    d->bdd.limit = MANY_NODES;
    d->bdd.max_steps = MANY_STEPS;
    for (int s = 0; s < 2; s++) {
        d->made[s] = arena_array(&d->arena, d->g[s]->nnodes, sizeof(uint32_t));
        d->large[s] = arena_array(&d->arena, d->g[s]->nnodes, sizeof(bool));
        if (!d->made[s] || !d->large[s])
            return false;
        memset(d->made[s], 0xff, sizeof(uint32_t) * d->g[s]->nnodes);
    }
    if (!d->sets || !d->settled)
        return false;
    memset(d->settled, -1, d->tests.n + 1u);
    return true;
}

int graph_diff(const struct graph *a, const struct graph *b, const struct graph_diff_how *how,
               graph_diff_fn *each, void *arg, enum graph_equality *out, struct bk_err *err)
{
    if (a->opt.fold_case != b->opt.fold_case)
        return err_set(err, BK_E_INPUT, "one policy ignores case, the other does not");
    struct differ *d = calloc(1, sizeof(*d));
    if (!d)
        return err_nomem(err);
    d->g[0] = a;
    d->g[1] = b;
    d->how = how ? *how : (struct graph_diff_how){0};
    arena_init(&d->arena, MAX_BYTES);
    arena_init(&d->kinds, MAX_KINDS_BYTES);
    d->cache[0] = graph_cache_new(a);
    d->cache[1] = graph_cache_new(b);
    int r = start(d) ? 0 : err_nomem(err);
    if (r == 0 && !number_filters(d))
        r = err_set(err, BK_E_LIMIT, "the policies' message filters are too large to compare");
    if (r == 0)
        *out = compare_all(d, each, arg);
    graph_cache_free(d->cache[0]);
    graph_cache_free(d->cache[1]);
    bdd_free(&d->bdd);
    diff_joint_free(d->joint);
    free(d->sets);
    arena_free(&d->arena);
    arena_free(&d->kinds);
    free(d);
    return r;
}
