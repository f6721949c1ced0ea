/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether two graphs decide alike. Both are walked at once; when a test comes up whose outcome is
 * not settled, what it asks about is settled in every way there is:
 *
 *   strings   all patterns of both graphs on that filter become one automaton, and each of its
 *             states says which of them hold together: so many kinds of strings there are, each
 *             with a shortest example;
 *   numbers   those that are named, and one that is not;
 *   the rest  (addresses, domains, bits, names and attributes that come in numbers) every test by
 *             itself, which allows combinations that no argument has.
 *
 * A question states a path, a name or a number once; extensions and attributes may be stated often.
 * Equality is therefore proved. A difference is told only when an argument made from it is decided
 * differently by the evaluator; where none could be made, the outcome is "not decided".
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/graph-int.h"

enum {
    MAX_STATES = 200000,
    MAX_KINDS = 20000,
    MAX_FACTS = 64,
    MAX_STEPS = 50 << 20,
    MAX_BYTES = 512 << 20,
    OUTSIDE = 0xfffffffeu, /* no message filter: allowed */
};

/* Strings or numbers that all tests answer alike. */
struct kind {
    struct graph_fact fact;
    bool absent;
    uint64_t *holds; /* by test */
    struct kind *next;
};

struct dimension {
    struct kind *kinds;
    uint32_t n;
    bool made, failed;
    const struct kind *chosen;
};

struct differ {
    const struct graph *g[2];
    struct graph_cache *cache[2];
    struct arena arena;
    const struct graph_test **tests; /* of both, equal ones once */
    uint32_t *index[2];              /* test of a graph → of these */
    uint32_t ntests, words;
    int8_t *settled; /* by test that stands for itself: -1 not yet */
    struct dimension dims[FILTER_COUNT];
    uint64_t steps;
    struct graph_difference out;
    uint32_t nested[2]; /* policies where both decide alike but filter messages */
    bool found, undecided;
};

/* ---- tests of both ---- */

static bool alike(const struct graph_test *a, const struct graph_test *b)
{
    return a->filter == b->filter && a->how == b->how && a->num == b->num && a->len == b->len &&
           (!a->len || memcmp(a->str, b->str, a->len) == 0) &&
           memcmp(&a->net, &b->net, sizeof(a->net)) == 0;
}

/* A Unix socket is one of that domain: both ways to say so are one test. */
static const struct graph_test *plainly(const struct graph_test *t)
{
    static const struct graph_test unix_domain = {
        .filter = FILTER_SOCKET_DOMAIN, .how = GRAPH_INT, .num = NET_DOMAIN_UNIX};
    return t->how == GRAPH_NET && t->net.proto == NET_UNIX ? &unix_domain : t;
}

static bool join_tests(struct differ *d)
{
    size_t most = (size_t)d->g[0]->ntests + d->g[1]->ntests + 1;
    d->tests = arena_array(&d->arena, most, sizeof(*d->tests));
    d->settled = arena_alloc(&d->arena, most);
    for (int s = 0; s < 2; s++) {
        d->index[s] = arena_array(&d->arena, d->g[s]->ntests + 1u, sizeof(uint32_t));
        if (!d->tests || !d->settled || !d->index[s])
            return false;
        for (uint32_t i = 0; i < d->g[s]->ntests; i++) {
            const struct graph_test *t = plainly(&d->g[s]->tests[i]);
            uint32_t k = 0, end = s ? d->g[0]->ntests : 0;
            while (k < end && !alike(d->tests[k], t))
                k++;
            if (k == end)
                k = d->ntests;
            if (k == d->ntests)
                d->tests[d->ntests++] = t;
            d->index[s][i] = k;
        }
    }
    memset(d->settled, -1, most);
    d->words = (d->ntests + 63) / 64;
    return true;
}

/* Facts that a question states once. */
static bool is_single(uint16_t filter)
{
    uint8_t arg = vocab_filters[filter].arg;
    return arg == ARG_PATH || arg == ARG_STRING ||
           (arg == ARG_INT && !strstr(vocab_filters[filter].name, "attribute"));
}

/* ---- kinds ---- */

static struct kind *add_kind(struct differ *d, uint16_t filter)
{
    struct dimension *dim = &d->dims[filter];
    struct kind *k = dim->n < MAX_KINDS ? arena_new(&d->arena, struct kind) : NULL;
    uint64_t *holds = k ? arena_array(&d->arena, d->words, sizeof(*holds)) : NULL;
    if (!holds) {
        dim->failed = true;
        return NULL;
    }
    *k = (struct kind){.fact = {.filter = filter}, .holds = holds, .next = dim->kinds};
    dim->kinds = k;
    dim->n++;
    return k;
}

static void make_numbers(struct differ *d, uint16_t filter)
{
    int64_t other = 1;
    for (uint32_t i = 0; i < d->ntests; i++) {
        const struct graph_test *t = d->tests[i];
        if (t->filter != filter)
            continue;
        struct kind *k = d->dims[filter].kinds;
        while (k && k->fact.num != t->num)
            k = k->next;
        if (!k && !(k = add_kind(d, filter)))
            return;
        k->fact.num = t->num;
        k->holds[i / 64] |= UINT64_C(1) << (i % 64);
        if (t->num >= other && t->num < INT64_MAX)
            other = t->num + 1;
    }
    struct kind *k = add_kind(d, filter);
    if (k)
        k->fact.num = other;
}

struct strings {
    struct differ *d;
    uint16_t filter;
    uint32_t *test_of; /* by pattern */
};

static bool new_string(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len)
{
    struct strings *x = arg;
    struct differ *d = x->d;
    uint64_t *holds = calloc(d->words + 1, sizeof(*holds));
    if (!holds)
        return false;
    for (size_t i = 0; i < n; i++)
        holds[x->test_of[ids[i]] / 64] |= UINT64_C(1) << (x->test_of[ids[i]] % 64);
    const struct kind *same = d->dims[x->filter].kinds;
    while (same && memcmp(same->holds, holds, d->words * sizeof(*holds)) != 0)
        same = same->next;
    struct kind *k = same ? NULL : add_kind(d, x->filter);
    if (k) {
        memcpy(k->holds, holds, d->words * sizeof(*holds));
        k->fact.str = arena_strndup(&d->arena, s, len);
        k->fact.len = (uint32_t)len;
    }
    free(holds);
    return same || (k && k->fact.str);
}

/* The test as a pattern. */
static void pattern_of(const struct graph_test *t, struct buf *out)
{
    if (t->how == GRAPH_REGEX) {
        buf_add(out, t->str, t->len);
        return;
    }
    buf_chr(out, '^');
    for (uint32_t i = 0; i < t->len; i++) {
        if (strchr("\\.*+?|()[]{}^$", t->str[i]))
            buf_chr(out, '\\');
        buf_chr(out, t->str[i]);
    }
    bool root = t->len == 1 && t->str[0] == '/';
    if (t->how == GRAPH_LITERAL)
        buf_chr(out, '$');
    else if (t->how == GRAPH_SUBPATH && !root)
        buf_str(out, "(/.*)?$");
}

static bool make_strings(struct differ *d, uint16_t filter)
{
    struct strings x = {.d = d, .filter = filter};
    struct regex_set *set = regex_set_new(&d->arena, d->g[0]->opt.fold_case, NULL);
    x.test_of = arena_array(&d->arena, d->ntests + 1u, sizeof(*x.test_of));
    for (uint32_t i = 0; set && x.test_of && i < d->ntests; i++) {
        uint32_t id;
        OWN(buf) struct buf pattern = {0};
        if (d->tests[i]->filter != filter)
            continue;
        pattern_of(d->tests[i], &pattern);
        if (!buf_ok(&pattern) || regex_set_add(set, pattern.s, pattern.n, &id, NULL) < 0)
            return false;
        x.test_of[id] = i;
    }
    return set && x.test_of && regex_set_freeze(set, NULL) == 0 &&
           regex_explore(set, MAX_STATES, new_string, &x) == 0;
}

static void make_kinds(struct differ *d, uint16_t filter)
{
    struct dimension *dim = &d->dims[filter];
    dim->made = true;
    if (vocab_filters[filter].arg == ARG_INT)
        make_numbers(d, filter);
    else if (!make_strings(d, filter))
        dim->failed = true;
    struct kind *none = add_kind(d, filter);
    if (none)
        none->absent = true;
}

/* ---- the walk ---- */

/* -1: not settled. */
static int outcome(const struct differ *d, uint32_t test)
{
    uint16_t filter = d->tests[test]->filter;
    if (!is_single(filter))
        return d->settled[test];
    const struct kind *k = d->dims[filter].chosen;
    return k ? (int)(k->holds[test / 64] >> (test % 64) & 1) : -1;
}

/* Follows what is settled. Returns the test that is not, or GRAPH_NONE at a decision. */
static uint32_t follow(struct differ *d, int side, uint32_t *node)
{
    while (*node != OUTSIDE && d->g[side]->nodes[*node].kind == GRAPH_NODE_FILTER) {
        const struct graph_node *n = &d->g[side]->nodes[*node];
        uint32_t test = d->index[side][n->test];
        int holds = outcome(d, test);
        if (holds < 0)
            return test;
        *node = holds ? n->match : n->unmatch;
        d->steps++;
    }
    return GRAPH_NONE;
}

struct decision {
    bool allow;
    uint32_t flags, policy;
    const struct graph_node *node; /* NULL: outside */
};

static struct decision decision_at(const struct differ *d, int side, uint32_t node)
{
    if (node == OUTSIDE)
        return (struct decision){.allow = true};
    const struct graph_node *n = &d->g[side]->nodes[node];
    struct decision r = {.allow = n->allow, .flags = n->flags, .node = n};
    for (uint32_t i = 0; i < n->nmods; i++)
        if (d->g[side]->mods[n->mods + i].id == MOD_MESSAGE_FILTER)
            r.policy = (uint32_t)d->g[side]->mods[n->mods + i].num;
    return r;
}

static const struct graph_mod *next_mod(const struct graph *g, const struct graph_node *n,
                                        uint32_t *i)
{
    while (n && *i < n->nmods) {
        const struct graph_mod *m = &g->mods[n->mods + (*i)++];
        if (m->id != MOD_MESSAGE_FILTER)
            return m;
    }
    return NULL;
}

static bool same_mods(const struct differ *d, const struct decision *a, const struct decision *b)
{
    for (uint32_t i = 0, k = 0;;) {
        const struct graph_mod *x = next_mod(d->g[0], a->node, &i);
        const struct graph_mod *y = next_mod(d->g[1], b->node, &k);
        if (!x || !y)
            return x == y;
        if (x->id != y->id || x->num != y->num ||
            strcmp(x->str ? x->str : "", y->str ? y->str : ""))
            return false;
    }
}

/* A socket of the Unix domain is told as its endpoints too, for those who ask for them. */
static void add_unix_socket(struct differ *d)
{
    struct graph_difference *o = &d->out;
    const struct kind *domain = d->dims[FILTER_SOCKET_DOMAIN].chosen;
    const struct kind *path = d->dims[FILTER_PATH].chosen;
    if (!domain || domain->absent || domain->fact.num != NET_DOMAIN_UNIX)
        return;
    for (int i = 0; i < 2 && o->nfacts < MAX_FACTS; i++)
        o->facts[o->nfacts++] = (struct graph_fact){
            .filter = i ? FILTER_LOCAL : FILTER_REMOTE,
            .str = path && !path->absent ? path->fact.str : NULL,
            .len = path && !path->absent ? path->fact.len : 0,
            .net = {.proto = NET_UNIX, .port_hi = UINT16_MAX},
        };
}

/* An argument out of what is settled, and what both say of it. */
static void bear_witness(struct differ *d, bool same_verdict)
{
    struct graph_difference *o = &d->out;
    o->nfacts = 0;
    for (uint32_t f = 0; f < FILTER_COUNT && o->nfacts < MAX_FACTS; f++)
        if (d->dims[f].chosen && !d->dims[f].chosen->absent)
            o->facts[o->nfacts++] = d->dims[f].chosen->fact;
    for (uint32_t i = 0; i < d->ntests && o->nfacts < MAX_FACTS; i++) {
        const struct graph_test *t = d->tests[i];
        if (d->settled[i] == 1 && !is_single(t->filter))
            o->facts[o->nfacts++] = (struct graph_fact){.filter = t->filter,
                                                        .str = t->str,
                                                        .len = t->len,
                                                        .num = t->how == GRAPH_FLAG ? 1 : t->num,
                                                        .net = t->net};
    }
    add_unix_socket(d);
    struct graph_query q = {.op = o->op, .facts = o->facts, .nfacts = o->nfacts};
    for (int s = 0; s < 2; s++) {
        q.policy = o->policy[s];
        o->verdict[s] = graph_eval(d->g[s], d->cache[s], &q);
        if (o->nested && !o->policy[s])
            o->verdict[s] = (struct graph_verdict){.allow = true, .rule = GRAPH_NO_RULE};
    }
    bool differ =
        o->verdict[0].allow != o->verdict[1].allow || o->verdict[0].flags != o->verdict[1].flags;
    if (differ || same_verdict)
        d->found = true;
    else
        d->undecided = true;
}

static void compare_decisions(struct differ *d, uint32_t a, uint32_t b)
{
    struct decision x = decision_at(d, 0, a), y = decision_at(d, 1, b);
    bool same = x.allow == y.allow && x.flags == y.flags;
    if (!same || !same_mods(d, &x, &y)) {
        bear_witness(d, same);
        return;
    }
    if (x.policy != y.policy || x.policy) {
        if ((d->nested[0] || d->nested[1]) &&
            (d->nested[0] != x.policy || d->nested[1] != y.policy))
            d->undecided = true; /* several message filters behind one operation */
        d->nested[0] = x.policy;
        d->nested[1] = y.policy;
    }
}

/* Recursion is as deep as there are filters and tests that stand for themselves. */
static void walk(struct differ *d, uint32_t a, uint32_t b, unsigned depth)
{
    uint32_t test = follow(d, 0, &a);
    if (test == GRAPH_NONE)
        test = follow(d, 1, &b);
    if (d->found || d->undecided)
        return;
    if (test == GRAPH_NONE) {
        compare_decisions(d, a, b);
        return;
    }
    if (++d->steps > MAX_STEPS || depth > 256) {
        d->undecided = true;
        return;
    }
    uint16_t filter = d->tests[test]->filter;
    if (!is_single(filter)) {
        for (int holds = 0; holds < 2; holds++) {
            d->settled[test] = (int8_t)holds;
            walk(d, a, b, depth + 1);
        }
        d->settled[test] = -1;
        return;
    }
    struct dimension *dim = &d->dims[filter];
    if (!dim->made)
        make_kinds(d, filter);
    d->undecided = d->undecided || dim->failed;
    for (const struct kind *k = dim->kinds; k && !d->found && !d->undecided; k = k->next) {
        dim->chosen = k;
        walk(d, a, b, depth + 1);
    }
    dim->chosen = NULL;
}

static enum graph_equality compare_entries(struct differ *d, uint16_t op, uint32_t pa, uint32_t pb,
                                           bool nested)
{
    d->found = d->undecided = false;
    d->out.op = op;
    d->out.policy[0] = pa;
    d->out.policy[1] = pb;
    d->out.nested = nested;
    d->steps = 0;
    uint32_t a = nested && !pa ? OUTSIDE : graph_policy_entry(d->g[0], pa, (enum vocab_op)op);
    uint32_t b = nested && !pb ? OUTSIDE : graph_policy_entry(d->g[1], pb, (enum vocab_op)op);
    walk(d, a, b, 0);
    return d->found ? GRAPH_DIFFERENT : d->undecided ? GRAPH_UNDECIDED : GRAPH_EQUAL;
}

static enum graph_equality worse(enum graph_equality a, enum graph_equality b)
{
    return a > b ? a : b;
}

static enum graph_equality compare_all(struct differ *d, const bool *ops, graph_diff_fn *each,
                                       void *arg)
{
    enum graph_equality all = GRAPH_EQUAL;
    for (uint16_t op = 0; op < OP_COUNT; op++) {
        if ((ops && !ops[op]) || vocab_ops[op].message_filter)
            continue;
        d->nested[0] = d->nested[1] = 0;
        enum graph_equality r = compare_entries(d, op, 0, 0, false);
        if (r != GRAPH_EQUAL)
            each(arg, r, &d->out);
        all = worse(all, r);
        uint32_t pa = d->nested[0], pb = d->nested[1];
        for (uint16_t m = 0; r == GRAPH_EQUAL && (pa || pb) && m < OP_COUNT; m++) {
            if (!vocab_ops[m].message_filter)
                continue;
            enum graph_equality inner = compare_entries(d, m, pa, pb, true);
            if (inner != GRAPH_EQUAL)
                each(arg, inner, &d->out);
            all = worse(all, inner);
        }
    }
    return all;
}

int graph_diff(const struct graph *a, const struct graph *b, const bool *ops, graph_diff_fn *each,
               void *arg, enum graph_equality *out, struct bk_err *err)
{
    if (a->opt.fold_case != b->opt.fold_case)
        return err_set(err, BK_E_INPUT, "one of the policies minds case, the other does not");
    struct differ *d = calloc(1, sizeof(*d));
    if (!d)
        return err_nomem(err);
    d->g[0] = a;
    d->g[1] = b;
    arena_init(&d->arena, MAX_BYTES);
    d->cache[0] = graph_cache_new(a);
    d->cache[1] = graph_cache_new(b);
    d->out.facts = arena_array(&d->arena, MAX_FACTS, sizeof(*d->out.facts));
    int r = d->cache[0] && d->cache[1] && d->out.facts && join_tests(d) ? 0 : err_nomem(err);
    if (r == 0)
        *out = compare_all(d, ops, each, arg);
    graph_cache_free(d->cache[0]);
    graph_cache_free(d->cache[1]);
    arena_free(&d->arena);
    free(d);
    return r;
}
