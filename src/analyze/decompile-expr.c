/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Decision graphs → conditions. A condition is read from a piece of graph with two ends, yes and
 * no: walk down from its top until only a single node X is pending.
 *
 *     only yes was reached        any of (what leads to yes above X) and (the condition of X)
 *     only no was reached         all of (what leads to X) and (the condition of X)
 *     both were reached           the piece above X twice: what leads to yes, or what leads to
 *                                 either, and the condition of X
 *     there is no such X          the first test and what follows it, or not and what follows that
 *
 * The first two undo how the compiler handles require-any and require-all. The others duplicate
 * shared nodes. Expressions are hash-consed, so that costs nothing here, but a text must spell them
 * out; one that would be too long is an error.
 */

#include <string.h>

#include "analyze/decompile-int.h"
#include "graph/build.h"

enum {
    MAX_SIZE = 60000, /* tests in one condition; the compiler accepts a million */
    MAX_DEPTH = 400,
    MAX_PARTS = 1 << 20,
};

static int no_room(struct dc *c)
{
    return err_set(c->err, BK_E_LIMIT, "decompiling needs more than %zu MiB of memory",
                   c->arena.limit >> 20);
}

/* ---- expressions ---- */

static uint32_t hash_expr(const struct dc *c, const struct dc_expr *e)
{
    uint64_t h = (e->kind + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ e->test;
    for (uint32_t i = 0; i < e->n; i++)
        h = (h ^ c->kids[e->kids + i] ^ h >> 29) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static bool same_expr(const struct dc *c, const struct dc_expr *a, const struct dc_expr *b)
{
    return a->kind == b->kind && a->test == b->test && a->n == b->n &&
           (a->n == 0 ||
            memcmp(c->kids + a->kids, c->kids + b->kids, a->n * sizeof(*c->kids)) == 0);
}

static uint32_t hash_number(const struct dc *c, uint32_t number)
{
    return hash_expr(c, &c->exprs[number]);
}

/* The operands, if any, are the last e.n of c->kids, and are removed if e already exists. */
static int intern(struct dc *c, struct dc_expr e, uint32_t *expr)
{
    if (dc_table_grow(c, &c->expr_table, hash_number) < 0 || dc_spend(c, 1 + e.n) < 0)
        return -1;
    struct dc_table *t = &c->expr_table;
    uint32_t k = hash_expr(c, &e) & t->mask;
    for (uint32_t at; (at = t->slots[k]) != 0; k = (k + 1) & t->mask)
        if (same_expr(c, &c->exprs[at - 1], &e)) {
            c->nkids -= e.n;
            *expr = at - 1;
            return 0;
        }
    if (dc_room(c, &c->exprs, &c->cap_exprs, c->nexprs, sizeof(e)) < 0)
        return -1;
    c->exprs[c->nexprs++] = e;
    t->slots[k] = c->nexprs;
    t->count++;
    *expr = c->nexprs - 1;
    return 0;
}

int dc_expr_test(struct dc *c, uint32_t test, uint32_t *expr)
{
    struct dc_expr e = {.kind = GRAPH_TEST, .size = 1, .test = test};
    uint16_t filter = c->tests[test]->filter;
    e.uses[filter / 64] |= UINT64_C(1) << (filter % 64);
    return intern(c, e, expr);
}

static int negate(struct dc *c, uint32_t kid, uint32_t *expr)
{
    const struct dc_expr *k = &c->exprs[kid];
    if (k->kind == GRAPH_NOT) {
        *expr = c->kids[k->kids];
        return 0;
    }
    struct dc_expr e = {.kind = GRAPH_NOT, .size = k->size, .depth = k->depth + 1, .n = 1};
    memcpy(e.uses, k->uses, sizeof(e.uses));
    if (dc_room(c, &c->kids, &c->cap_kids, c->nkids, sizeof(*c->kids)) < 0)
        return -1;
    e.kids = c->nkids;
    c->kids[c->nkids++] = kid;
    return intern(c, e, expr);
}

/* Flattens operands of the same kind and drops duplicates. */
static int add_operand(struct dc *c, struct dc_expr *e, uint32_t kid)
{
    const struct dc_expr k = c->exprs[kid];
    uint32_t n = k.kind == e->kind ? k.n : 1;
    if (c->nkids + (uint64_t)n > MAX_PARTS * 16)
        return no_room(c);
    if (dc_room(c, &c->kids, &c->cap_kids, c->nkids + n, sizeof(*c->kids)) < 0)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t one = k.kind == e->kind ? c->kids[k.kids + i] : kid;
        if (c->exprs[one].seen == c->seen)
            continue;
        c->exprs[one].seen = c->seen;
        c->kids[c->nkids++] = one;
        e->n++;
        e->size += c->exprs[one].size;
        e->uses[0] |= c->exprs[one].uses[0];
        e->uses[1] |= c->exprs[one].uses[1];
        if (c->exprs[one].depth >= e->depth)
            e->depth = c->exprs[one].depth + 1;
        if (e->size > MAX_SIZE || e->depth > MAX_DEPTH) {
            err_set(c->err, BK_E_LIMIT, "a condition of %s would have more than %d %s",
                    vocab_ops[c->op].name, e->size > MAX_SIZE ? MAX_SIZE : MAX_DEPTH,
                    e->size > MAX_SIZE ? "tests" : "levels");
            err_hint(c->err, "its graph shares nodes in a way that formulas cannot express; "
                             "`buckle graph` shows it");
            return -1;
        }
    }
    return 0;
}

int dc_expr_make(struct dc *c, enum graph_expr_kind kind, const uint32_t *kids, uint32_t n,
                 uint32_t *expr)
{
    if (kind == GRAPH_NOT)
        return negate(c, kids[0], expr);
    struct dc_expr e = {.kind = (uint8_t)kind, .kids = c->nkids};
    c->seen++;
    for (uint32_t i = 0; i < n; i++)
        if (add_operand(c, &e, kids[i]) < 0)
            return -1;
    if (e.n != 1)
        return intern(c, e, expr);
    *expr = c->kids[e.kids];
    c->nkids = e.kids;
    return 0;
}

static int make2(struct dc *c, enum graph_expr_kind kind, uint32_t a, uint32_t b, uint32_t *expr)
{
    const uint32_t kids[] = {a, b};
    return dc_expr_make(c, kind, kids, 2, expr);
}

/* ---- memoised results ---- */

static struct dc_memo *memo_slot(struct dc *c, uint32_t n, uint32_t yes, uint32_t no)
{
    uint64_t h = (n ^ (uint64_t)yes << 32) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ no ^ h >> 31) * UINT64_C(0xff51afd7ed558ccd);
    uint32_t k = (uint32_t)(h >> 32) & c->memo_mask;
    while (c->memo[k].n != DC_NONE &&
           (c->memo[k].n != n || c->memo[k].yes != yes || c->memo[k].no != no))
        k = (k + 1) & c->memo_mask;
    return &c->memo[k];
}

static int memo_room(struct dc *c)
{
    if (c->memo && c->nmemo < (c->memo_mask + 1) / 2)
        return 0;
    struct dc_memo *old = c->memo;
    uint32_t had = old ? c->memo_mask + 1 : 0, size = had ? had * 2 : 1024;
    c->memo = arena_array(&c->arena, size, sizeof(*c->memo));
    if (!c->memo)
        return no_room(c);
    c->memo_mask = size - 1;
    for (uint32_t i = 0; i < size; i++)
        c->memo[i].n = DC_NONE;
    for (uint32_t i = 0; i < had; i++)
        if (old[i].n != DC_NONE)
            *memo_slot(c, old[i].n, old[i].yes, old[i].no) = old[i];
    return 0;
}

static int remember(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, uint32_t expr)
{
    if (memo_room(c) < 0)
        return -1;
    *memo_slot(c, n, yes, no) = (struct dc_memo){n, yes, no, expr};
    c->nmemo++;
    return 0;
}

/* ---- pieces ---- */

struct piece {
    uint32_t rest; /* X, or DC_NONE */
    bool met_yes, met_no;
};

static void reach(struct dc *c, struct piece *p, uint32_t kid, uint32_t yes, uint32_t no)
{
    if (kid == yes) {
        p->met_yes = true;
    } else if (kid == no) {
        p->met_no = true;
    } else if (c->mark[kid] != c->stamp) {
        c->mark[kid] = c->stamp;
        dc_heap_push(c, kid);
    }
}

/* Larger numbers come first, so that a node is opened after all its predecessors. */
static int find_piece(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, struct piece *p)
{
    *p = (struct piece){.rest = DC_NONE};
    if (dc_walk_begin(c) < 0)
        return -1;
    for (uint32_t at = n;;) {
        reach(c, p, c->nodes[at].match, yes, no);
        reach(c, p, c->nodes[at].unmatch, yes, no);
        if (dc_spend(c, 1) < 0)
            return -1;
        if (c->nheap <= 1) {
            p->rest = c->nheap ? c->heap[0] : DC_NONE;
            return 0;
        }
        at = dc_heap_pop(c);
    }
}

int dc_two_ends(struct dc *c, uint32_t n, const uint32_t *ends, const bool *is_yes, uint32_t nends,
                uint32_t *out)
{
    uint32_t nmet = 0;
    if (dc_walk_begin(c) < 0)
        return -1;
    uint32_t stamp = c->stamp;
    for (uint32_t i = 0; i < nends; i++) {
        c->mark[ends[i]] = stamp;
        c->map[ends[i]] = is_yes[i] ? c->yes : c->no;
    }
    c->mark[n] = stamp;
    dc_heap_push(c, n);
    while (c->nheap) {
        uint32_t at = dc_heap_pop(c);
        if (dc_room(c, &c->met, &c->cap_met, nmet, sizeof(*c->met)) < 0 || dc_spend(c, 1) < 0)
            return -1;
        c->met[nmet++] = at;
        const uint32_t kids[2] = {c->nodes[at].match, c->nodes[at].unmatch};
        for (int k = 0; k < 2; k++)
            if (c->mark[kids[k]] != stamp) {
                c->mark[kids[k]] = stamp;
                dc_heap_push(c, kids[k]);
            }
    }
    while (nmet--) { /* from the bottom */
        const struct dc_node at = c->nodes[c->met[nmet]];
        uint32_t to;
        if (dc_filter(c, at.test, c->map[at.match], c->map[at.unmatch], &to) < 0)
            return -1;
        c->map[c->met[nmet]] = to;
    }
    *out = c->map[n];
    return 0;
}

static int both_ends(struct dc *c, uint32_t n, uint32_t x, uint32_t yes, uint32_t no,
                     unsigned depth, uint32_t *expr)
{
    const uint32_t ends[3] = {yes, no, x};
    uint32_t sure, maybe, a, b, rest;
    if (dc_two_ends(c, n, ends, (const bool[3]){true, false, false}, 3, &sure) < 0 ||
        dc_two_ends(c, n, ends, (const bool[3]){true, false, true}, 3, &maybe) < 0 ||
        dc_condition(c, sure, c->yes, c->no, depth + 1, &a) < 0 ||
        dc_condition(c, maybe, c->yes, c->no, depth + 1, &b) < 0 ||
        dc_condition(c, x, yes, no, depth + 1, &rest) < 0 || make2(c, GRAPH_ALL, b, rest, &b) < 0)
        return -1;
    return make2(c, GRAPH_ANY, a, b, expr);
}

static int either_way(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, unsigned depth,
                      uint32_t *expr)
{
    uint32_t test, other, with, without;
    const struct dc_node at = c->nodes[n];
    if (dc_expr_test(c, at.test, &test) < 0 || negate(c, test, &other) < 0 ||
        dc_condition(c, at.match, yes, no, depth + 1, &with) < 0 ||
        dc_condition(c, at.unmatch, yes, no, depth + 1, &without) < 0 ||
        make2(c, GRAPH_ALL, test, with, &with) < 0 ||
        make2(c, GRAPH_ALL, other, without, &without) < 0)
        return -1;
    return make2(c, GRAPH_ANY, with, without, expr);
}

/* A single test between two ends. */
static bool is_test(const struct dc *c, uint32_t n, uint32_t yes, uint32_t no, bool *holds)
{
    const struct dc_node *at = &c->nodes[n];
    *holds = at->match == yes;
    return (at->match == yes && at->unmatch == no) || (at->match == no && at->unmatch == yes);
}

static int one_test(struct dc *c, uint32_t n, bool holds, uint32_t *expr)
{
    if (dc_expr_test(c, c->nodes[n].test, expr) < 0)
        return -1;
    return holds ? 0 : negate(c, *expr, expr);
}

/* Pending operands are on a stack that all rows share. */
static int add_part(struct dc *c, uint32_t part)
{
    if (dc_room(c, &c->parts, &c->cap_parts, c->nparts, sizeof(*c->parts)) < 0)
        return -1;
    c->parts[c->nparts++] = part;
    return 0;
}

static int join_parts(struct dc *c, uint32_t first, enum graph_expr_kind kind, uint32_t *expr)
{
    uint32_t n = c->nparts - first;
    c->nparts = first;
    return dc_expr_make(c, kind == GRAPH_TEST ? GRAPH_ANY : kind, c->parts + first, n, expr);
}

/* What follows the operands of a row when it does not continue in kind. */
static int last_part(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, const struct piece *p,
                     unsigned depth, uint32_t *part)
{
    if (p->rest == DC_NONE)
        return either_way(c, n, yes, no, depth, part);
    if (p->met_yes && p->met_no)
        return both_ends(c, n, p->rest, yes, no, depth, part);
    return dc_condition(c, n, yes, no, depth + 1, part);
}

/* Walks along a row of operands of one kind. */
static int row(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, unsigned depth, uint32_t *expr)
{
    enum graph_expr_kind kind = GRAPH_TEST;
    uint32_t part, first = c->nparts;
    bool holds;
    while (!is_test(c, n, yes, no, &holds)) {
        struct piece p;
        if (find_piece(c, n, yes, no, &p) < 0)
            return -1;
        enum graph_expr_kind here = p.met_no ? GRAPH_ALL : GRAPH_ANY;
        if (p.rest == DC_NONE || p.met_yes == p.met_no || (kind != GRAPH_TEST && here != kind)) {
            if (last_part(c, n, yes, no, &p, depth, &part) < 0 || add_part(c, part) < 0)
                return -1;
            return join_parts(c, first, kind, expr);
        }
        kind = here;
        bool any = kind == GRAPH_ANY;
        if (dc_condition(c, n, any ? yes : p.rest, any ? p.rest : no, depth + 1, &part) < 0 ||
            add_part(c, part) < 0)
            return -1;
        n = p.rest;
    }
    if (one_test(c, n, holds, &part) < 0 || add_part(c, part) < 0)
        return -1;
    return join_parts(c, first, kind, expr);
}

int dc_condition(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, unsigned depth,
                 uint32_t *expr)
{
    bool holds;
    if (n == yes || n == no) /* no operands left: all of nothing holds, any of nothing does not */
        return dc_expr_make(c, n == yes ? GRAPH_ALL : GRAPH_ANY, NULL, 0, expr);
    if (is_test(c, n, yes, no, &holds))
        return one_test(c, n, holds, expr);
    if (memo_room(c) < 0)
        return -1;
    const struct dc_memo *known = memo_slot(c, n, yes, no);
    if (known->n != DC_NONE) {
        *expr = known->expr;
        return 0;
    }
    if (depth > MAX_DEPTH) {
        err_set(c->err, BK_E_LIMIT, "a condition of %s would have more than %d levels",
                vocab_ops[c->op].name, MAX_DEPTH);
        err_hint(c->err, "`buckle graph` shows it");
        return -1;
    }
    return row(c, n, yes, no, depth, expr) < 0 ? -1 : remember(c, n, yes, no, *expr);
}
