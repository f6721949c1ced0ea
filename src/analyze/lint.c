/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules that can never decide. A rule is checked in each operation it names, and reported only if
 * it is dead in all of them: each of its alternatives contradicts itself, needs something
 * impossible, or is covered by an alternative of a rule consulted earlier in that list (a filtered
 * rule written later). A rule not proved dead counts as alive, and so does the rest once there are
 * too many comparisons.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/lint-int.h"
#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/eval.h"
#include "graph/words.h"

enum { MAX_COMPARISONS = 16 << 20, LINT_BYTES = 128 << 20 };

/* A rule in an operation's list; sorted, lists are contiguous and in source order. */
struct listed {
    uint32_t list; /* policy × OP_COUNT + operation */
    uint32_t rule;
};

struct linter {
    const struct graph *g;
    struct relations rel;
    struct arena arena;
    struct alternatives *alts; /* by rule */
    struct listed *listed;
    size_t nlisted;
    uint64_t left; /* comparisons */
};

/* Why something is dead; kind is the strongest of its alternatives' reasons. */
struct death {
    enum graph_lint_kind kind;
    uint32_t by;
    const char *impossible;
    literal one, other;
    bool found, names_test;
};

static int by_list(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static int linter_init(struct linter *l, const struct graph *g, struct graph_cache *cache)
{
    size_t n = 0, k = 0;
    *l = (struct linter){.g = g, .left = MAX_COMPARISONS};
    arena_init(&l->arena, LINT_BYTES);
    for (uint32_t i = 0; i < g->nrules; i++)
        n += g->rules[i].nops;
    l->alts = arena_array(&l->arena, g->nrules, sizeof(*l->alts));
    l->listed = arena_array(&l->arena, n, sizeof(*l->listed));
    if (!l->alts || !l->listed || relations_init(&l->rel, g, cache, &l->arena) < 0)
        return -1;
    for (uint32_t i = 0; i < g->nrules; i++) {
        l->alts[i] = lint_alternatives(g, i, &l->arena);
        for (uint32_t o = 0; o < g->rules[i].nops; o++)
            l->listed[k++] = (struct listed){g->rules[i].policy * OP_COUNT + g->rules[i].ops[o], i};
    }
    qsort(l->listed, n, sizeof(*l->listed), by_list);
    l->nlisted = n;
    return 0;
}

/* The position after this rule in this list. */
static size_t after(const struct linter *l, struct listed wanted)
{
    size_t lo = 0, hi = l->nlisted;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_list(&l->listed[mid], &wanted) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Counts comparisons; false when there have been too many. */
static bool spend(struct linter *l, uint64_t n)
{
    l->left -= l->left < n ? l->left : n;
    return l->left > 0;
}

/* ---- one alternative ---- */

static bool dies_alone(struct linter *l, const struct alternative *a, struct death *d)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const char *why = literal_negated(a->lits[i])
                              ? NULL
                              : relations_impossible(&l->rel, literal_test(a->lits[i]));
        if (why) {
            *d = (struct death){.kind = GRAPH_LINT_IMPOSSIBLE,
                                .by = GRAPH_NO_RULE,
                                .impossible = why,
                                .one = a->lits[i],
                                .found = true,
                                .names_test = true};
            return true;
        }
    }
    literal one, other;
    if (!spend(l, (uint64_t)a->n * a->n) || !relations_contradict(&l->rel, a, &one, &other))
        return false;
    *d = (struct death){.kind = GRAPH_LINT_CONTRADICTORY,
                        .by = GRAPH_NO_RULE,
                        .one = one,
                        .other = other,
                        .found = true};
    return true;
}

/* Whether an alternative takes every possible query for the operation. Files have paths; sockets
 * and others need not. */
static bool takes_everything(const struct linter *l, const struct alternative *a, uint32_t list)
{
    if (a->n == 0)
        return true;
    return a->n == 1 && !literal_negated(a->lits[0]) &&
           vocab_op_is_within((enum vocab_op)(list % OP_COUNT), OP_FILE) &&
           relations_every_path(&l->rel, literal_test(a->lits[0]));
}

static bool rule_covers(struct linter *l, uint32_t rule, const struct alternative *inner,
                        uint32_t list)
{
    const struct alternatives *alts = &l->alts[rule];
    for (uint32_t i = 0; !alts->unknown && i < alts->n; i++) {
        if (!spend(l, 1 + (uint64_t)alts->at[i].n * inner->n))
            return false;
        if (takes_everything(l, &alts->at[i], list) ||
            (inner->n && relations_alternative_covers(&l->rel, &alts->at[i], inner)))
            return true;
    }
    return false;
}

/* Whether two rules are one in the text: of a file that is imported twice, or of a loop. */
static bool is_same_text(const struct linter *l, uint32_t a, uint32_t b)
{
    const struct graph_origin *x = &l->g->rules[a].origin, *y = &l->g->rules[b].origin;
    return x->line && x->line == y->line && x->col == y->col && x->file && y->file &&
           strcmp(x->file, y->file) == 0;
}

/* Later filtered rules of the list are consulted before a filtered rule, all of them before a
 * tail. */
static bool is_shadowed(struct linter *l, struct listed at, const struct alternative *a,
                        struct death *d)
{
    bool tail = !l->g->rules[at.rule].filtered;
    size_t i = after(l, tail ? (struct listed){at.list, 0} : at);
    if (tail && i > 0 && l->listed[i - 1].list == at.list)
        i--;
    for (; i < l->nlisted && l->listed[i].list == at.list; i++) {
        uint32_t rule = l->listed[i].rule;
        if (!spend(l, 1))
            return false;
        if (rule == at.rule || !l->g->rules[rule].filtered || is_same_text(l, rule, at.rule) ||
            !rule_covers(l, rule, a, at.list))
            continue;
        *d = (struct death){.kind = GRAPH_LINT_SHADOWED, .by = rule, .found = true};
        return true;
    }
    return false;
}

/* ---- one rule ---- */

static bool is_replaced(struct linter *l, struct listed at, struct death *d)
{
    if (l->g->rules[at.rule].filtered)
        return false;
    bool replaced = false;
    for (size_t i = after(l, at); i < l->nlisted && l->listed[i].list == at.list; i++)
        if (spend(l, 1) && !l->g->rules[l->listed[i].rule].filtered &&
            !is_same_text(l, l->listed[i].rule, at.rule)) {
            *d =
                (struct death){.kind = GRAPH_LINT_REPLACED, .by = l->listed[i].rule, .found = true};
            replaced = true;
        }
    return replaced;
}

/* Keeps the strongest reason: another rule, a contradiction, an impossible filter. */
static void weigh(struct death *worst, const struct death *d)
{
    if (!worst->found || d->kind < worst->kind)
        *worst = *d;
}

static bool dead_in(struct linter *l, struct listed at, struct death *worst)
{
    struct death d;
    const struct alternatives *alts = &l->alts[at.rule];
    if (is_replaced(l, at, &d)) {
        weigh(worst, &d);
        return true;
    }
    if (alts->unknown)
        return false;
    if (alts->n == 0) {
        d = (struct death){.kind = GRAPH_LINT_IMPOSSIBLE,
                           .by = GRAPH_NO_RULE,
                           .impossible = "its condition can never hold",
                           .found = true};
        weigh(worst, &d);
        return true;
    }
    for (uint32_t i = 0; i < alts->n; i++) {
        if (!dies_alone(l, &alts->at[i], &d) && !is_shadowed(l, at, &alts->at[i], &d))
            return false;
        weigh(worst, &d);
    }
    return true;
}

static void print_literal(const struct linter *l, literal lit, struct buf *out)
{
    graph_test_describe(&l->g->tests[literal_test(lit)], !literal_negated(lit), out);
}

static void print_reason(const struct linter *l, const struct death *d, struct buf *out)
{
    switch (d->kind) {
    case GRAPH_LINT_SHADOWED:
        buf_str(out, "the rule at ");
        graph_place_print(&l->g->rules[d->by], out);
        buf_str(out, " is consulted first and matches everything this one could");
        break;
    case GRAPH_LINT_REPLACED:
        buf_str(out, "the rule at ");
        graph_place_print(&l->g->rules[d->by], out);
        buf_str(out, " has no filter either and replaces it");
        break;
    case GRAPH_LINT_CONTRADICTORY:
        buf_str(out, "it cannot be that ");
        print_literal(l, d->one, out);
        buf_str(out, " and ");
        print_literal(l, d->other, out);
        break;
    case GRAPH_LINT_IMPOSSIBLE:
        if (d->names_test) {
            graph_test_print(&l->g->tests[literal_test(d->one)], out);
            buf_str(out, " matches nothing: ");
        }
        buf_str(out, d->impossible);
        break;
    }
}

static void lint_rule(struct linter *l, uint32_t rule, graph_lint_fn *found, void *arg)
{
    const struct graph_rule_info *r = &l->g->rules[rule];
    struct death worst = {.found = false};
    if (r->implicit || r->is_default)
        return;
    for (uint32_t i = 0; i < r->nops; i++)
        if (!dead_in(l, (struct listed){r->policy * OP_COUNT + r->ops[i], rule}, &worst))
            return;
    if (!worst.found)
        return;
    OWN(buf) struct buf why = {0};
    print_reason(l, &worst, &why);
    struct graph_lint finding = {worst.kind, rule, worst.by, why.s ? why.s : ""};
    found(arg, &finding);
}

void graph_lint(const struct graph *g, graph_lint_fn *found, void *arg)
{
    struct linter l = {0};
    struct graph_cache *cache = graph_cache_new(g);
    if (cache && linter_init(&l, g, cache) == 0)
        for (uint32_t i = 0; i < g->nrules && l.left > 0; i++)
            lint_rule(&l, i, found, arg);
    arena_free(&l.arena);
    graph_cache_free(cache);
}
