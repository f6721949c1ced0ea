/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Undoes shortcuts. Apple's compiler knows that a name that is "a" is not "b": behind a test for
 * "a", it skips all tests for other names.
 *
 *     a ─▶ x ─▶ allow           a ─▶ x ─▶ allow
 *     │    └──────────▶ d       │    └─▶ b
 *     └─▶ b ─▶ … ─▶ d           └─▶ b ─▶ … ─▶ d
 *
 * The left graph cannot be written as a list of short rules, the right one can, and both decide the
 * same. So below the match edge of a test for a single value, every node that decides like the
 * unmatch edge, given that value, is replaced by it.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/decompile-int.h"
#include "analyze/diff-int.h"
#include "base/own.h"

struct shortcuts {
    struct dc *c;
    uint32_t base; /* not looked into, or DC_NONE */
    uint32_t test; /* the test that holds (DC_NONE: none for one value of the filter)… */
    uint16_t filter;
    uint32_t *given; /* … and what nodes become then */
    uint32_t *given_stamp, stamp;
    uint32_t cap_given, cap_stamp;
    uint32_t *order, cap_order; /* nodes of one walk, largest first */
};

enum outcome { OPEN, HOLDS, FAILS };

static bool starts(const struct graph_test *t, const char *with, uint32_t n)
{
    return t->len >= n && memcmp(t->str, with, n) == 0;
}

/* Whether a text that begins with t, or is in that folder, is in the folder. */
static bool is_in(const struct graph_test *t, const struct graph_test *folder)
{
    return starts(t, folder->str, folder->len) &&
           (t->len == folder->len ? t->how != GRAPH_PREFIX
                                  : t->str[folder->len] == '/' ||
                                        (folder->len && folder->str[folder->len - 1] == '/'));
}

/* What a whole text says about another test of its filter. */
static enum outcome from_text(const struct graph_test *known, const struct graph_test *t)
{
    switch (t->how) {
    case GRAPH_LITERAL:
        return t->len == known->len && starts(t, known->str, t->len) ? HOLDS : FAILS;
    case GRAPH_PREFIX:
        return starts(known, t->str, t->len) ? HOLDS : FAILS;
    case GRAPH_SUBPATH:
        return is_in(known, t) ? HOLDS : FAILS;
    default:
        return OPEN;
    }
}

/* The same for its beginning, or its folder. */
static enum outcome from_beginning(const struct graph_test *known, const struct graph_test *t)
{
    bool further =
        known->how == GRAPH_SUBPATH ? is_in(t, known) : starts(t, known->str, known->len);
    switch (t->how) {
    case GRAPH_LITERAL:
        return further ? OPEN : FAILS;
    case GRAPH_PREFIX:
        return starts(known, t->str, t->len)       ? HOLDS
               : starts(t, known->str, known->len) ? OPEN
                                                   : FAILS;
    case GRAPH_SUBPATH:
        return is_in(known, t)                                                      ? HOLDS
               : starts(t, known->str, known->len) || starts(known, t->str, t->len) ? OPEN
                                                                                    : FAILS;
    default:
        return OPEN;
    }
}

/* What a test that holds says about another. */
static enum outcome implied(const struct graph_test *known, const struct graph_test *t)
{
    if (t == known)
        return HOLDS;
    if (t->filter != known->filter)
        return OPEN;
    if (known->how == GRAPH_INT)
        return t->how != GRAPH_INT ? OPEN : t->num == known->num ? HOLDS : FAILS;
    return known->how == GRAPH_LITERAL ? from_text(known, t) : from_beginning(known, t);
}

/* Whether letters in paths match in either case, and nothing here knows it. */
static bool is_folded(const struct dc *c, const struct graph_test *t)
{
    if (!graph_options_of(c->g)->fold_case || !vocab_filter_is_path(t->filter))
        return false;
    for (uint32_t i = 0; i < t->len; i++)
        if (t->str[i] >= 'A' && t->str[i] <= 'Z')
            return true;
    return false;
}

static bool is_telling(const struct dc *c, const struct graph_test *t)
{
    return (t->how == GRAPH_INT || t->how == GRAPH_LITERAL || t->how == GRAPH_PREFIX ||
            t->how == GRAPH_SUBPATH) &&
           diff_is_single(t->filter) && !is_folded(c, t);
}

static bool is_one_value(const struct graph_test *t)
{
    return t->how == GRAPH_INT || t->how == GRAPH_LITERAL;
}

static enum outcome outcome_at(const struct shortcuts *s, uint32_t node)
{
    const struct dc *c = s->c;
    const struct graph_test *t = c->tests[c->nodes[node].test];
    if (s->test == DC_NONE)
        return t->filter == s->filter && is_one_value(t) ? FAILS : OPEN;
    return is_folded(c, t) ? OPEN : implied(c->tests[s->test], t);
}

static bool is_end(const struct shortcuts *s, uint32_t node)
{
    return node == s->base || dc_is_leaf(s->c, node);
}

static int make_room(struct shortcuts *s)
{
    struct dc *c = s->c;
    uint32_t had = s->cap_stamp;
    if (dc_room(c, &s->given, &s->cap_given, c->nnodes, sizeof(*s->given)) < 0 ||
        dc_room(c, &s->given_stamp, &s->cap_stamp, c->nnodes, sizeof(*s->given_stamp)) < 0 ||
        dc_walk_begin(c) < 0)
        return -1;
    if (s->cap_stamp > had)
        memset(s->given_stamp + had, 0, (s->cap_stamp - had) * sizeof(*s->given_stamp));
    return 0;
}

/* Pops the next node of the walk into the order. */
static int next_node(struct shortcuts *s, uint32_t *n, uint32_t *at)
{
    if (dc_room(s->c, &s->order, &s->cap_order, *n, sizeof(*s->order)) < 0 || dc_spend(s->c, 1) < 0)
        return -1;
    *at = s->order[(*n)++] = dc_heap_pop(s->c);
    return 0;
}

static void reach(struct dc *c, uint32_t node)
{
    if (c->mark[node] == c->stamp)
        return;
    c->mark[node] = c->stamp;
    dc_heap_push(c, node);
}

static uint32_t given_of(const struct shortcuts *s, uint32_t node)
{
    return is_end(s, node) ? node : s->given[node];
}

/* Where a node leads if the test holds. */
static void reach_next(struct shortcuts *s, uint32_t at)
{
    const struct dc_node *node = &s->c->nodes[at];
    enum outcome o = outcome_at(s, at);
    if (o != FAILS)
        reach(s->c, node->match);
    if (o != HOLDS)
        reach(s->c, node->unmatch);
}

/* Computes what everything below a node becomes if the test holds. */
static int give(struct shortcuts *s, uint32_t from)
{
    struct dc *c = s->c;
    uint32_t n = 0, at;
    if (make_room(s) < 0)
        return -1;
    reach(c, from);
    while (c->nheap) {
        if (next_node(s, &n, &at) < 0)
            return -1;
        if (is_end(s, at) || s->given_stamp[at] == s->stamp) {
            n--;
            continue;
        }
        reach_next(s, at);
    }
    while (n--) {
        at = s->order[n];
        const struct dc_node node = c->nodes[at];
        enum outcome o = outcome_at(s, at);
        uint32_t to;
        if (o != OPEN)
            to = given_of(s, o == HOLDS ? node.match : node.unmatch);
        else if (dc_filter(c, node.test, given_of(s, node.match), given_of(s, node.unmatch), &to) <
                 0)
            return -1;
        s->given[at] = to;
        s->given_stamp[at] = s->stamp;
    }
    return 0;
}

/* Replaces what decides like `like`, below a node that is reached only if the test holds. */
static int lengthen(struct shortcuts *s, uint32_t from, uint32_t like, uint32_t *out)
{
    struct dc *c = s->c;
    uint32_t n = 0, at;
    if (give(s, like) < 0 || give(s, from) < 0)
        return -1;
    uint32_t same = given_of(s, like);
    if (given_of(s, from) == same) {
        *out = like;
        return 0;
    }
    if (make_room(s) < 0)
        return -1;
    reach(c, from);
    while (c->nheap) {
        if (next_node(s, &n, &at) < 0)
            return -1;
        c->map[at] = given_of(s, at) == same ? like : at;
        if (c->map[at] == like || is_end(s, at)) {
            n--;
            continue;
        }
        reach_next(s, at);
    }
    while (n--) {
        at = s->order[n];
        const struct dc_node node = c->nodes[at];
        enum outcome o = outcome_at(s, at);
        if (o != OPEN)
            c->map[at] = c->map[o == HOLDS ? node.match : node.unmatch];
        else if (dc_filter(c, node.test, c->map[node.match], c->map[node.unmatch], &c->map[at]) < 0)
            return -1;
    }
    *out = c->map[from];
    return 0;
}

/* Rebuilds one node whose successors are rebuilt already. */
static int rebuild(struct shortcuts *s, struct dc_node node, uint32_t match, uint32_t unmatch,
                   uint32_t *out)
{
    struct dc *c = s->c;
    if (is_telling(c, c->tests[node.test])) {
        s->test = node.test;
        s->stamp++;
        if (lengthen(s, match, unmatch, &match) < 0)
            return -1;
    }
    return dc_filter(c, node.test, match, unmatch, out);
}

/* Its arrays are used again and again. */
static struct shortcuts *shortcuts_of(struct dc *c, uint32_t base)
{
    if (!c->shortcuts)
        c->shortcuts = arena_new(&c->arena, struct shortcuts);
    if (c->shortcuts) {
        c->shortcuts->c = c;
        c->shortcuts->base = base;
    }
    return c->shortcuts;
}

int dc_undo_shortcuts(struct dc *c, uint32_t entry, uint32_t base, uint32_t *out)
{
    struct shortcuts *s = shortcuts_of(c, base);
    uint32_t n = 0, at;
    OWN(mem) uint32_t *made = malloc(c->nnodes * sizeof(*made));
    if (!s || !made || make_room(s) < 0)
        return err_nomem(c->err);
    reach(c, entry);
    while (c->nheap) {
        if (next_node(s, &n, &at) < 0)
            return -1;
        made[at] = at;
        if (is_end(s, at)) {
            n--;
            continue;
        }
        reach(c, c->nodes[at].match);
        reach(c, c->nodes[at].unmatch);
    }
    OWN(mem) uint32_t *all = malloc((n + 1u) * sizeof(*all));
    if (!all)
        return err_nomem(c->err);
    memcpy(all, s->order, n * sizeof(*all));
    while (n--) {
        const struct dc_node node = c->nodes[all[n]];
        if (rebuild(s, node, made[node.match], made[node.unmatch], &made[all[n]]) < 0)
            return -1;
    }
    *out = made[entry];
    return 0;
}

/* ---- cases ---- */

/* Counts the nodes that test each filter for one value; returns the one with the most. */
static int busiest(struct shortcuts *s, uint32_t entry, uint16_t *filter)
{
    struct dc *c = s->c;
    uint32_t counts[FILTER_COUNT] = {0}, n = 0, at;
    *filter = FILTER_NONE;
    if (make_room(s) < 0)
        return -1;
    reach(c, entry);
    while (c->nheap) {
        if (next_node(s, &n, &at) < 0)
            return -1;
        if (dc_is_leaf(c, at))
            continue;
        const struct graph_test *t = c->tests[c->nodes[at].test];
        counts[t->filter] += is_one_value(t) && is_telling(c, t);
        reach(c, c->nodes[at].match);
        reach(c, c->nodes[at].unmatch);
    }
    for (uint16_t f = 0; f < FILTER_COUNT; f++)
        if (counts[f] && (*filter == FILTER_NONE || counts[f] > counts[*filter]))
            *filter = f;
    return 0;
}

/* What the graph becomes if that test holds, or no test for one value of the filter does. */
static int case_of(struct shortcuts *s, uint32_t entry, uint32_t test, uint32_t *out)
{
    s->test = test;
    s->stamp++;
    if (give(s, entry) < 0)
        return -1;
    *out = given_of(s, entry);
    return 0;
}

int dc_cases(struct dc *c, uint32_t entry, struct dc_case **cases, uint32_t *n)
{
    struct shortcuts *s = shortcuts_of(c, DC_NONE);
    uint32_t cap = 0, rest = entry;
    *cases = NULL;
    *n = 0;
    if (!s)
        return err_nomem(c->err);
    if (busiest(s, entry, &s->filter) < 0)
        return -1;
    if (s->filter != FILTER_NONE && case_of(s, entry, DC_NONE, &rest) < 0)
        return -1;
    for (uint32_t t = 0; s->filter != FILTER_NONE && t < c->ntests; t++) {
        uint32_t is;
        if (c->tests[t]->filter != s->filter || !is_one_value(c->tests[t]) ||
            is_folded(c, c->tests[t]))
            continue;
        if (case_of(s, entry, t, &is) < 0)
            return -1;
        if (is == rest)
            continue;
        if (dc_room(c, cases, &cap, *n, sizeof(**cases)) < 0)
            return -1;
        (*cases)[(*n)++] = (struct dc_case){t, is};
    }
    if (dc_room(c, cases, &cap, *n, sizeof(**cases)) < 0)
        return -1;
    (*cases)[(*n)++] = (struct dc_case){DC_NONE, rest};
    return 0;
}
