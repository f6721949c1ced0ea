/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether one policy allows only what another allows, for policies that have much in common: a
 * profile and the one it was made from. Both graphs are walked at once. Where they make the same
 * test they go on together; a test of only one of them goes both ways there. One test of the path
 * that holds is remembered, mostly a literal, and decides what follows from it. So this takes time
 * in proportion to the graphs, where a difference (diff.c) may not be decided at all.
 *
 * Yes is a proof. No only means that none was found this way.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/lint-int.h"
#include "base/own.h"
#include "graph/build.h"

enum { MAX_PAIRS = 1 << 21, MAX_TESTS = 4000 };
static const uint32_t NONE = UINT32_MAX;

struct pair {
    uint32_t a, b;  /* nodes */
    uint32_t known; /* a test of `both` that holds, or NONE */
    uint32_t op;    /* + 1; in the table: whose pair it is */
};

struct walk {
    const struct graph *ga, *gb;
    struct graph *both; /* has the tests of both */
    uint32_t *ta, *tb;  /* for each test of a and of b: that of `both` */
    bool *in_a, *in_b;  /* which of these a and b have */
    uint8_t *decided;   /* by two tests: 0 not asked, 1 open, 2 holds, 3 does not */
    struct relations relations;
    struct pair *seen;
    size_t nseen;
    struct pair *todo;
    size_t ntodo, cap;
    uint32_t op;
};

/* ---- tests ---- */

static void number_tests(const struct graph *g, const struct graph *both, uint32_t *numbers,
                         bool *there)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        numbers[i] = NONE;
        for (uint32_t k = 0; k < graph_test_count(both) && numbers[i] == NONE; k++)
            if (graph_test_same(graph_test_at(g, i), graph_test_at(both, k)))
                numbers[i] = k;
        if (numbers[i] != NONE)
            there[numbers[i]] = true;
    }
}

/* Whether a test holds, given another: 2 yes, 3 no, 1 unknown. */
static uint8_t decide(struct walk *w, uint32_t test, uint32_t known)
{
    if (known == NONE || test == NONE)
        return 1;
    uint8_t *at = &w->decided[(size_t)test * graph_test_count(w->both) + known];
    if (*at == 0)
        *at = relations_covers(&w->relations, test, known)    ? 2
              : relations_exclude(&w->relations, test, known) ? 3
                                                              : 1;
    return *at;
}

/* What is known where a test holds. */
static uint32_t learn_test(const struct walk *w, uint32_t test, uint32_t known)
{
    const struct graph_test *t = test == NONE ? NULL : graph_test_at(w->both, test);
    if (!t || t->filter != FILTER_PATH)
        return known;
    if (known != NONE && graph_test_at(w->both, known)->how == GRAPH_LITERAL)
        return known;
    return test;
}

/* ---- pairs ---- */

static bool is_new(struct walk *w, struct pair p)
{
    uint64_t h = (((uint64_t)p.a << 32 | p.b) ^ (uint64_t)p.known << 17) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(h >> 24);; i++) {
        struct pair *at = &w->seen[i & (MAX_PAIRS - 1)];
        if (at->op == p.op && at->a == p.a && at->b == p.b && at->known == p.known)
            return false;
        if (at->op == p.op)
            continue;
        *at = p;
        w->nseen++;
        return true;
    }
}

static bool push(struct walk *w, uint32_t a, uint32_t b, uint32_t known)
{
    if (w->ntodo == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 1024;
        struct pair *more = realloc(w->todo, cap * sizeof(*more));
        if (!more)
            return false;
        w->todo = more;
        w->cap = cap;
    }
    w->todo[w->ntodo++] = (struct pair){a, b, known, w->op};
    return true;
}

/* Goes on where the test of one of the nodes, or of both, leads. */
static bool follow(struct walk *w, struct pair p, uint32_t test, bool at_a, bool at_b)
{
    const struct graph_node *a = graph_node_at(w->ga, p.a), *b = graph_node_at(w->gb, p.b);
    uint8_t how = decide(w, test, p.known);
    if (how != 3 &&
        !push(w, at_a ? a->match : p.a, at_b ? b->match : p.b, learn_test(w, test, p.known)))
        return false;
    return how == 2 || push(w, at_a ? a->unmatch : p.a, at_b ? b->unmatch : p.b, p.known);
}

/* Returns false if a may allow here what b denies. */
static bool step(struct walk *w, struct pair p)
{
    const struct graph_node *a = graph_node_at(w->ga, p.a), *b = graph_node_at(w->gb, p.b);
    bool ends_a = a->kind == GRAPH_NODE_DECISION, ends_b = b->kind == GRAPH_NODE_DECISION;
    if ((ends_a && !a->allow) || (ends_b && b->allow))
        return true;
    if (ends_a && ends_b)
        return false;
    uint32_t ta = ends_a ? NONE : w->ta[a->test], tb = ends_b ? NONE : w->tb[b->test];
    if (!ends_a && !ends_b && ta == tb && ta != NONE)
        return follow(w, p, ta, true, true);
    bool split_a = !ends_a && (ends_b || ta == NONE || !w->in_b[ta] || tb == NONE || w->in_a[tb]);
    return split_a ? follow(w, p, ta, true, false) : follow(w, p, tb, false, true);
}

static bool walk_op(struct walk *w, enum vocab_op op)
{
    w->op = (uint32_t)op + 1;
    w->nseen = w->ntodo = 0;
    bool within = push(w, graph_entry(w->ga, op), graph_entry(w->gb, op), NONE);
    while (within && w->ntodo) {
        struct pair p = w->todo[--w->ntodo];
        if (w->nseen > MAX_PAIRS / 2)
            return false;
        if (is_new(w, p))
            within = step(w, p);
    }
    return within;
}

/* ---- all of it ---- */

static bool begins_alike(const struct walk *w, unsigned one, unsigned other)
{
    return graph_entry(w->ga, (enum vocab_op)one) == graph_entry(w->ga, (enum vocab_op)other) &&
           graph_entry(w->gb, (enum vocab_op)one) == graph_entry(w->gb, (enum vocab_op)other);
}

static void walk_all(struct walk *w, bool *within)
{
    for (unsigned op = 0; op < OP_COUNT; op++) {
        unsigned like = 0;
        while (like < op && !begins_alike(w, like, op))
            like++;
        within[op] = like < op ? within[like] : walk_op(w, (enum vocab_op)op);
    }
}

int graph_within(const struct graph *a, const struct graph *b, bool *within, struct bk_err *err)
{
    OWN(arena) struct arena arena;
    struct walk w = {.ga = a, .gb = b, .both = graph_conjoin(a, b, err)};
    arena_init(&arena, 64 << 20);
    memset(within, 0, OP_COUNT * sizeof(*within));
    if (!w.both)
        return -1;
    size_t n = graph_test_count(w.both);
    if (n > MAX_TESTS)
        return graph_free(w.both), 0;
    struct graph_cache *cache = graph_cache_new(w.both);
    w.ta = arena_array(&arena, graph_test_count(a) + 1, sizeof(*w.ta));
    w.tb = arena_array(&arena, graph_test_count(b) + 1, sizeof(*w.tb));
    w.in_a = arena_array(&arena, n + 1, sizeof(*w.in_a));
    w.in_b = arena_array(&arena, n + 1, sizeof(*w.in_b));
    w.decided = arena_array(&arena, n + 1, n + 1);
    w.seen = calloc(MAX_PAIRS, sizeof(*w.seen));
    bool ok = cache && w.ta && w.tb && w.in_a && w.in_b && w.decided && w.seen &&
              relations_init(&w.relations, w.both, cache, &arena) == 0;
    if (ok) {
        number_tests(a, w.both, w.ta, w.in_a);
        number_tests(b, w.both, w.tb, w.in_b);
        walk_all(&w, within);
    }
    graph_cache_free(cache);
    free(w.seen);
    free(w.todo);
    graph_free(w.both);
    return ok ? 0 : err_nomem(err);
}
