/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From conditions to clauses. A condition is a formula of any shape; people read "one of these,
 * when that, except those". So disjunctions become separate clauses, down to a few levels of
 * exceptions to exceptions; what is deeper stays a formula inside its clause. Splitting never
 * changes the meaning:
 *
 *     any of (a, b, all of (c, not d))     a, b    |   c except d
 *     all of (a, any of (not b, not c))    a except (b and c)
 *     all of (a, any of (extension, b))    a when extension   |   a when b
 */

#include <string.h>

#include "analyze/catalog-int.h"
#include "graph/build.h"

enum {
    MAX_OPEN = 300,      /* conditions that a clause inherits */
    MAX_CLAUSES = 20000, /* per entry; past it nothing is split any more */
    MAX_GROUPS = 32,     /* of items with the same exceptions, per clause */
    MAX_WORK = 1 << 27,
};

/* ---- formulas ---- */

struct maker {
    struct arena *arena;
    uint64_t work;
    bool failed; /* no memory, or too much work */
    enum allow_terms terms;
    struct found {
        struct catalog_clause clause;
        struct found *next;
    } * first, **last;
    uint32_t nclauses;
};

static bool spend(struct maker *m)
{
    m->failed = m->failed || ++m->work > MAX_WORK;
    return !m->failed;
}

static void *room(struct maker *m, size_t n, size_t size)
{
    void *p = m->failed ? NULL : arena_array(m->arena, n + 1, size);
    m->failed = !p;
    return p;
}

static bool asks_for_extension(const struct graph_expr *e)
{
    return e->kind == GRAPH_TEST && vocab_filters[e->test.filter].category == CAT_EXTENSION;
}

/* Whether it cannot hold without an extension. */
static bool needs_extension(struct maker *m, const struct graph_expr *e)
{
    if (!spend(m) || e->kind == GRAPH_TEST)
        return asks_for_extension(e);
    if (e->kind == GRAPH_NOT || e->nkids == 0)
        return false;
    bool all = e->kind == GRAPH_ALL;
    for (uint32_t i = 0; i < e->nkids; i++)
        if (needs_extension(m, e->kids[i]) == all)
            return all;
    return !all;
}

/* Whether it consists of negations only. */
static bool is_negative(struct maker *m, const struct graph_expr *e)
{
    if (!spend(m) || e->kind == GRAPH_TEST || e->nkids == 0)
        return false;
    for (uint32_t i = 0; e->kind != GRAPH_NOT && i < e->nkids; i++)
        if (!is_negative(m, e->kids[i]))
            return false;
    return true;
}

static const struct graph_expr *make_expr(struct maker *m, enum graph_expr_kind kind,
                                          const struct graph_expr **kids, uint32_t n)
{
    struct graph_expr *e = room(m, 1, sizeof(*e));
    if (e)
        *e = (struct graph_expr){.kind = kind, .nkids = n, .kids = kids};
    return e;
}

/* The opposite of a negative formula, without negations. */
static const struct graph_expr *opposite(struct maker *m, const struct graph_expr *e)
{
    if (e->kind == GRAPH_NOT)
        return e->kids[0];
    const struct graph_expr **kids = room(m, e->nkids, sizeof(*kids));
    for (uint32_t i = 0; kids && i < e->nkids; i++)
        kids[i] = opposite(m, e->kids[i]);
    return make_expr(m, e->kind == GRAPH_ANY ? GRAPH_ALL : GRAPH_ANY, kids, e->nkids);
}

/* ---- clauses ---- */

/* What holds in a clause, the last first. */
struct held {
    const struct graph_expr *expr; /* must not hold if it is an exception */
    bool except;
    unsigned depth;
    const struct held *up;
};

static const struct held *add_held(struct maker *m, const struct held *up,
                                   const struct graph_expr *e)
{
    struct held *h = room(m, 1, sizeof(*h));
    if (!h)
        return up;
    bool except = is_negative(m, e);
    *h = (struct held){.expr = except ? opposite(m, e) : e,
                       .except = except,
                       .depth = up ? up->depth + 1 : 1,
                       .up = up};
    return h;
}

static bool is_tests(const struct graph_expr *e)
{
    for (uint32_t i = 0; i < e->nkids; i++)
        if (e->kids[i]->kind != GRAPH_TEST)
            return false;
    return e->kind == GRAPH_TEST || (e->kind == GRAPH_ANY && e->nkids);
}

/* Tests of the operation's subject: paths, names, addresses. */
static bool is_subject(const struct graph_expr *e)
{
    if (!is_tests(e))
        return false;
    if (e->kind == GRAPH_TEST)
        return vocab_filter_is_subject((enum vocab_filter)e->test.filter);
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!vocab_filter_is_subject((enum vocab_filter)e->kids[i]->test.filter))
            return false;
    return true;
}

/* The first that tests the subject, else the first list of tests. */
static const struct held *choose_subject(const struct held *h)
{
    const struct held *subject = NULL, *tests = NULL;
    for (; h; h = h->up) {
        if (!h->except && is_subject(h->expr))
            subject = h;
        if (!h->except && is_tests(h->expr))
            tests = h;
    }
    return subject ? subject : tests;
}

static void list_any(struct maker *m, const struct graph_expr *e, struct catalog_clause *c)
{
    const struct graph_expr **one = room(m, 1, sizeof(*one));
    if (e->kind != GRAPH_TEST) {
        c->any = e->kids;
        c->nany = e->nkids;
    } else if (one) {
        one[0] = e;
        c->any = one;
        c->nany = 1;
    }
}

/* An exception for any of several things counts as several exceptions. */
static void list_except(const struct graph_expr *e, const struct graph_expr **list, uint32_t *n)
{
    if (e->kind != GRAPH_ANY) {
        list[(*n)++] = e;
        return;
    }
    for (uint32_t i = 0; i < e->nkids; i++)
        list[(*n)++] = e->kids[i];
}

/* In the order they were found. */
static const struct held **in_order(struct maker *m, const struct held *held, uint32_t *n,
                                    uint32_t *most)
{
    *n = held ? held->depth : 0;
    *most = 0;
    const struct held **row = room(m, *n, sizeof(*row));
    for (uint32_t i = *n; row && i-- > 0; held = held->up) {
        row[i] = held;
        *most += held->expr->nkids + 1;
    }
    return row;
}

static void add_clause(struct maker *m, const struct catalog_clause *c)
{
    struct found *f = room(m, 1, sizeof(*f));
    if (!f)
        return;
    f->clause = *c;
    *m->last = f;
    m->last = &f->next;
    m->nclauses++;
}

/* Whether an exception cannot apply to an item. */
static bool is_beside(const struct graph_expr *item, const struct graph_expr *except)
{
    if (except->kind == GRAPH_TEST)
        return graph_tests_exclude(&item->test, &except->test);
    for (uint32_t i = 0; except->kind == GRAPH_ALL && i < except->nkids; i++)
        if (is_beside(item, except->kids[i]))
            return true;
    return false;
}

static bool same_exceptions(const struct catalog_clause *a, const struct catalog_clause *b)
{
    return a->nexcept == b->nexcept &&
           (a->nexcept == 0 || memcmp(a->except, b->except, a->nexcept * sizeof(*a->except)) == 0);
}

/* The exceptions of c that may apply to the item. */
static struct catalog_clause about_item(struct maker *m, const struct catalog_clause *c,
                                        const struct graph_expr *item)
{
    struct catalog_clause mine = *c;
    const struct graph_expr **except = room(m, c->nexcept, sizeof(*except));
    mine.nexcept = 0;
    mine.except = except;
    for (uint32_t i = 0; except && i < c->nexcept && spend(m); i++)
        if (!is_beside(item, c->except[i]))
            except[mine.nexcept++] = c->except[i];
    return mine;
}

/* Groups items that have the same exceptions. When there are too many groups, the last takes all
 * other items, with every exception: an exception that does not apply does no harm. */
static uint32_t group_for(struct catalog_clause groups[MAX_GROUPS], uint32_t *n,
                          const struct catalog_clause *mine, const struct catalog_clause *whole)
{
    uint32_t g = 0;
    while (g < *n && !same_exceptions(&groups[g], mine))
        g++;
    if (g == *n && *n < MAX_GROUPS) {
        groups[g] = g < MAX_GROUPS - 1 ? *mine : *whole;
        groups[g].nany = 0;
        ++*n;
    }
    return g < MAX_GROUPS ? g : MAX_GROUPS - 1;
}

static void add_by_exceptions(struct maker *m, const struct catalog_clause *c)
{
    struct catalog_clause groups[MAX_GROUPS];
    uint32_t n = 0, *of = room(m, c->nany, sizeof(*of));
    for (uint32_t i = 0; of && i < c->nany; i++) {
        struct catalog_clause mine = about_item(m, c, c->any[i]);
        of[i] = group_for(groups, &n, &mine, c);
    }
    for (uint32_t g = 0; g < n && !m->failed; g++) {
        const struct graph_expr **any = room(m, c->nany, sizeof(*any));
        groups[g].any = any;
        for (uint32_t i = 0; any && i < c->nany; i++)
            if (of[i] == g)
                any[groups[g].nany++] = c->any[i];
        add_clause(m, &groups[g]);
    }
}

static void end_clause(struct maker *m, const struct held *held)
{
    uint32_t n, most;
    const struct held **row = in_order(m, held, &n, &most), *subject = choose_subject(held);
    const struct graph_expr **all = room(m, most, sizeof(*all));
    const struct graph_expr **except = room(m, most, sizeof(*except));
    if (m->failed)
        return;
    struct catalog_clause c = {.terms = m->terms, .all = all, .except = except};
    for (uint32_t i = 0; i < n; i++) {
        const struct held *h = row[i];
        if (h->except)
            list_except(h->expr, except, &c.nexcept);
        else if (h != subject)
            all[c.nall++] = h->expr;
        c.extension = c.extension || (!h->except && needs_extension(m, h->expr));
    }
    if (subject)
        list_any(m, subject->expr, &c);
    if (c.nany && c.nexcept)
        add_by_exceptions(m, &c);
    else
        add_clause(m, &c);
}

static bool may_open(const struct maker *m, const struct held *held)
{
    return m->nclauses < MAX_CLAUSES && (!held || held->depth < MAX_OPEN);
}

/* Alternatives of which some need an extension and some do not. */
static bool is_mixed(struct maker *m, const struct graph_expr *e)
{
    uint32_t need = 0;
    for (uint32_t i = 0; i < e->nkids; i++)
        need += needs_extension(m, e->kids[i]);
    return e->kind == GRAPH_ANY && need > 0 && need < e->nkids;
}

static void split(struct maker *m, const struct graph_expr *e, const struct held *held);

/* The operand of a conjunction to open: one that hides extensions, else the last one that is not a
 * plain list. */
static const struct graph_expr *choose_open(struct maker *m, const struct graph_expr *e)
{
    const struct graph_expr *open = NULL;
    for (uint32_t i = 0; i < e->nkids; i++) {
        const struct graph_expr *k = e->kids[i];
        if (is_mixed(m, k))
            return k;
        if (k->kind == GRAPH_ANY && !is_tests(k) && !is_negative(m, k))
            open = k;
    }
    return open;
}

static void split_all(struct maker *m, const struct graph_expr *e, const struct held *held)
{
    const struct graph_expr *open = may_open(m, held) ? choose_open(m, e) : NULL;
    for (uint32_t i = 0; i < e->nkids; i++)
        if (e->kids[i] != open)
            held = add_held(m, held, e->kids[i]);
    if (open)
        split(m, open, held);
    else
        end_clause(m, held);
}

/* Joins the alternatives that are tests, and that do or do not need an extension, into one
 * clause. */
static void join_tests(struct maker *m, const struct graph_expr *e, bool extension,
                       const struct held *held)
{
    uint32_t n = 0;
    const struct graph_expr **some = room(m, e->nkids, sizeof(*some));
    for (uint32_t i = 0; some && i < e->nkids; i++)
        if (e->kids[i]->kind == GRAPH_TEST && asks_for_extension(e->kids[i]) == extension)
            some[n++] = e->kids[i];
    if (n)
        end_clause(m, add_held(m, held, n == 1 ? some[0] : make_expr(m, GRAPH_ANY, some, n)));
}

static void split_any(struct maker *m, const struct graph_expr *e, const struct held *held)
{
    join_tests(m, e, false, held);
    join_tests(m, e, true, held);
    for (uint32_t i = 0; i < e->nkids && !m->failed; i++)
        if (e->kids[i]->kind != GRAPH_TEST)
            split(m, e->kids[i], held);
}

static void split(struct maker *m, const struct graph_expr *e, const struct held *held)
{
    if (m->failed)
        return;
    if (e->kind == GRAPH_ALL)
        split_all(m, e, held);
    else if (e->kind == GRAPH_ANY && may_open(m, held) && !is_negative(m, e))
        split_any(m, e, held);
    else
        end_clause(m, add_held(m, held, e));
}

/* ---- a whole entry ---- */

int catalog_clauses(struct arena *arena, const struct graph_expr *const when[ALLOW_TERMS],
                    struct catalog_entry *entry, struct bk_err *err)
{
    struct maker m = {.arena = arena, .last = &m.first};
    for (int t = 0; t < ALLOW_TERMS; t++) {
        m.terms = (enum allow_terms)t;
        if (!condition_is_never(when[t]))
            split(&m, when[t], NULL);
    }
    struct catalog_clause *clauses = room(&m, m.nclauses, sizeof(*clauses));
    if (!clauses)
        return err_set(err, BK_E_LIMIT, "the conditions that allow %s are too complex to summarise",
                       vocab_ops[entry->ops[0]].name);
    for (const struct found *f = m.first; f; f = f->next)
        clauses[entry->nclauses++] = f->clause;
    entry->clauses = clauses;
    return 0;
}
