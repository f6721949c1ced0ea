/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What one policy allows and another does not. graph_diff() proves on the graphs which operations
 * are allowed alike, because clauses may express the same thing differently. Only for the others
 * are clauses compared, item by item.
 */

#include <string.h>

#include "analyze/catalog.h"
#include "graph/build.h"
#include "graph/eval.h"

/* ---- clauses ---- */

static bool same_expr(const struct graph_expr *a, const struct graph_expr *b)
{
    if (a->kind != b->kind || a->nkids != b->nkids)
        return false;
    if (a->kind == GRAPH_TEST)
        return graph_test_same(&a->test, &b->test);
    for (uint32_t i = 0; i < a->nkids; i++)
        if (!same_expr(a->kids[i], b->kids[i]))
            return false;
    return true;
}

static bool same_list(const struct graph_expr *const *a, uint32_t na,
                      const struct graph_expr *const *b, uint32_t nb)
{
    if (na != nb)
        return false;
    for (uint32_t i = 0; i < na; i++)
        if (!same_expr(a[i], b[i]))
            return false;
    return true;
}

static bool same_conditions(const struct catalog_clause *a, const struct catalog_clause *b)
{
    return a->terms == b->terms && same_list(a->all, a->nall, b->all, b->nall) &&
           same_list(a->except, a->nexcept, b->except, b->nexcept);
}

static bool has_item(const struct catalog_clause *c, const struct graph_expr *item)
{
    for (uint32_t i = 0; i < c->nany; i++)
        if (same_expr(c->any[i], item))
            return true;
    return false;
}

/* Whether some clause of e covers item, or anything (NULL), under the conditions of c. */
static bool has_clause(const struct catalog_entry *e, const struct catalog_clause *c,
                       const struct graph_expr *item)
{
    for (uint32_t i = 0; i < e->nclauses; i++) {
        const struct catalog_clause *other = &e->clauses[i];
        if ((item ? has_item(other, item) : other->nany == 0) && same_conditions(other, c))
            return true;
    }
    return false;
}

/* Stores what is left of c after removing what e also covers; false when nothing is left. */
static bool rest_of(const struct catalog_clause *c, const struct catalog_entry *e,
                    const struct graph_expr **items, struct catalog_clause *out)
{
    *out = *c;
    out->any = items;
    out->nany = 0;
    for (uint32_t i = 0; i < c->nany; i++)
        if (!has_clause(e, c, c->any[i]))
            items[out->nany++] = c->any[i];
    return c->nany ? out->nany > 0 : !has_clause(e, c, NULL);
}

/* out: the clauses of a that b lacks, for a's operations. */
static bool missing(const struct catalog_entry *a, const struct catalog_entry *b,
                    struct arena *arena, struct catalog_entry *out)
{
    struct catalog_clause *clauses = arena_array(arena, a->nclauses + 1u, sizeof(*clauses));
    *out = (struct catalog_entry){.family = a->family, .clauses = clauses};
    for (uint32_t i = 0; clauses && i < a->nclauses; i++) {
        const struct catalog_clause *c = &a->clauses[i];
        const struct graph_expr **items = arena_array(arena, c->nany + 1u, sizeof(*items));
        if (!items)
            return false;
        out->nclauses += rest_of(c, b, items, &clauses[out->nclauses]);
    }
    return clauses;
}

/* ---- operations ---- */

struct comparing {
    struct arena *arena;
    struct catalog_witness *of[OP_COUNT]; /* NULL: allowed alike */
    bool failed;
};

/* Copies facts, because they must outlive the comparison. */
static bool keep_facts(struct arena *arena, const struct graph_difference *d,
                       struct catalog_witness *w)
{
    struct graph_fact *facts = arena_dup(arena, d->facts, d->nfacts * sizeof(*facts));
    for (size_t i = 0; facts && i < d->nfacts; i++)
        if (facts[i].str && !(facts[i].str = arena_strndup(arena, facts[i].str, facts[i].len)))
            return false;
    w->facts = facts;
    w->nfacts = d->nfacts;
    return facts;
}

static void note_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    struct comparing *c = arg;
    struct catalog_witness *w = arena_new(c->arena, struct catalog_witness);
    c->failed = c->failed || !w;
    if (c->failed)
        return;
    w->op = d->op;
    w->kind = how == GRAPH_UNDECIDED ? CATALOG_UNDECIDED : CATALOG_SHOWN;
    w->allowed = d->verdict[0].allow;
    if (w->kind == CATALOG_SHOWN)
        c->failed = !keep_facts(c->arena, d, w);
    c->of[d->op] = w;
}

static const struct catalog_entry *entry_with(const struct catalog *c, uint32_t op)
{
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < c->entries[i].nops; k++)
            if (c->entries[i].ops[k] == op)
                return &c->entries[i];
    return NULL;
}

static bool has_terms(const struct catalog_entry *e)
{
    for (uint32_t i = 0; i < e->nclauses; i++)
        if (e->clauses[i].terms != ALLOW_FREELY)
            return true;
    return false;
}

/* Operations that are allowed alike, but on other terms: there is no verdict to show. */
static void note_terms(struct comparing *c, const struct catalog sides[2], uint32_t op)
{
    struct catalog_entry gone, added;
    const struct catalog_entry *a = entry_with(&sides[0], op), *b = entry_with(&sides[1], op);
    if (c->of[op] || !a || !b || (!has_terms(a) && !has_terms(b)))
        return;
    struct catalog_witness *w = arena_new(c->arena, struct catalog_witness);
    c->failed =
        c->failed || !w || !missing(a, b, c->arena, &gone) || !missing(b, a, c->arena, &added);
    if (c->failed || (!has_terms(&gone) && !has_terms(&added)))
        return;
    *w = (struct catalog_witness){.op = (uint16_t)op, .kind = CATALOG_TERMS};
    c->of[op] = w;
}

/* Collects operations that differ as op does, and removes them from those left to report. */
static bool take_change(struct comparing *c, const struct catalog sides[2], uint32_t op,
                        struct catalog_change *out)
{
    const struct catalog_entry *a = entry_with(&sides[0], op), *b = entry_with(&sides[1], op);
    uint16_t *ops = arena_array(c->arena, a ? a->nops : 0, sizeof(*ops));
    if (!ops || !b || !missing(a, b, c->arena, &out->gone) || !missing(b, a, c->arena, &out->added))
        return false;
    out->family = a->family;
    out->witness = *c->of[op];
    out->ops = ops;
    for (uint32_t i = 0; i < a->nops; i++) {
        uint16_t other = a->ops[i];
        if (!c->of[other] || entry_with(&sides[1], other) != b)
            continue;
        ops[out->nops++] = other;
        c->of[other] = NULL;
    }
    out->gone.ops = out->added.ops = ops;
    out->gone.nops = out->added.nops = out->nops;
    return true;
}

static int list_changes(struct comparing *c, const struct catalog sides[2],
                        struct catalog_diff *out, struct bk_err *err)
{
    struct catalog_change *changes = arena_array(c->arena, OP_COUNT, sizeof(*changes));
    if (!changes)
        return err_nomem(err);
    out->changes = changes;
    for (uint32_t f = 0; f < CATALOG_FAMILIES; f++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            if (c->of[op] && catalog_family_of((enum vocab_op)op) == f &&
                !take_change(c, sides, op, &changes[out->n++]))
                return err_nomem(err);
    return 0;
}

int catalog_compare(const struct graph *a, const struct graph *b, const bool *ops,
                    struct arena *arena, struct catalog_diff *out, struct bk_err *err)
{
    struct comparing c = {.arena = arena};
    struct catalog sides[2];
    enum graph_equality all;
    struct graph_diff_how how = {.ops = ops, .verdicts = true};
    *out = (struct catalog_diff){0};
    if (catalog_make(&a, 1, ops, arena, &sides[0], err) < 0 ||
        catalog_make(&b, 1, ops, arena, &sides[1], err) < 0 ||
        graph_diff(a, b, &how, note_difference, &c, &all, err) < 0)
        return -1;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        note_terms(&c, sides, op);
    return c.failed ? err_nomem(err) : list_changes(&c, sides, out, err);
}
