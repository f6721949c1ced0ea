/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Uses the decompiler's way from graph to condition, with other ends: all decisions that allow on
 * the same terms are one end, all others the other.
 */

#include "analyze/conditions.h"

#include "analyze/decompile-int.h"
#include "graph/build.h"

enum { MAX_BYTES = 512 << 20 };

static bool has_modifier(const struct dc_leaf *leaf, enum vocab_modifier id)
{
    for (uint32_t i = 0; i < leaf->nmods; i++)
        if (leaf->mods[i].id == id)
            return true;
    return false;
}

/* The most permissive term of a decision counts. */
static enum allow_terms terms_of(const struct dc_leaf *leaf)
{
    if (leaf->flags & vocab_modifiers[MOD_NO_SANDBOX].flag)
        return ALLOW_OUTSIDE;
    if (leaf->policy)
        return ALLOW_FILTERED;
    return has_modifier(leaf, MOD_USER_APPROVAL) ? ALLOW_ASKED : ALLOW_FREELY;
}

/* Lists the nodes that are decisions. */
static int list_leaves(struct dc *c, uint32_t **leaves, uint32_t *n)
{
    *leaves = arena_array(&c->arena, c->nleaves + 1u, sizeof(**leaves));
    if (!*leaves)
        return err_nomem(c->err);
    *n = 0;
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (dc_is_leaf(c, i) && i != c->yes && i != c->no)
            (*leaves)[(*n)++] = i;
    return 0;
}

struct endings {
    uint32_t *leaves, n;
    bool *counts; /* by leaf: whether it has these terms */
};

static bool leaf_counts(const struct dc *c, uint32_t node, enum allow_terms terms)
{
    const struct dc_leaf *leaf = dc_leaf_at(c, node);
    return leaf->allow && terms_of(leaf) == terms;
}

/* Stores the condition's number in expr. */
static int condition_on(struct dc *c, struct endings *e, uint32_t entry, enum allow_terms terms,
                        uint32_t *expr)
{
    uint32_t top;
    for (uint32_t i = 0; i < e->n; i++)
        e->counts[i] = leaf_counts(c, e->leaves[i], terms);
    if (dc_is_leaf(c, entry))
        top = leaf_counts(c, entry, terms) ? c->yes : c->no;
    else if (dc_two_ends(c, entry, e->leaves, e->counts, e->n, &top) < 0)
        return -1;
    return dc_condition(c, top, c->yes, c->no, 0, expr);
}

/* Most operations share their entry with others. */
static uint32_t begins_alike(const struct dc *c, uint32_t op)
{
    for (uint32_t other = 0; other < op; other++)
        if (!vocab_ops[other].message_filter &&
            graph_entry(c->g, (enum vocab_op)other) == graph_entry(c->g, (enum vocab_op)op))
            return other;
    return op;
}

static int condition_of(struct dc *c, struct endings *e, uint32_t op, enum allow_terms terms,
                        uint32_t numbers[OP_COUNT][ALLOW_TERMS])
{
    if (vocab_ops[op].message_filter)
        return dc_expr_make(c, GRAPH_ANY, NULL, 0, &numbers[op][terms]);
    uint32_t alike = begins_alike(c, op);
    c->op = (enum vocab_op)op;
    if (alike == op)
        return condition_on(c, e, c->node_of[graph_entry(c->g, (enum vocab_op)op)], terms,
                            &numbers[op][terms]);
    numbers[op][terms] = numbers[alike][terms];
    return 0;
}

static int read_conditions(struct dc *c, uint32_t numbers[OP_COUNT][ALLOW_TERMS])
{
    struct endings e = {0};
    if (list_leaves(c, &e.leaves, &e.n) < 0)
        return -1;
    e.counts = arena_array(&c->arena, e.n + 1u, sizeof(*e.counts));
    if (!e.counts)
        return err_nomem(c->err);
    for (uint32_t op = 0; op < OP_COUNT; op++)
        for (int t = 0; t < ALLOW_TERMS; t++)
            if (condition_of(c, &e, op, (enum allow_terms)t, numbers) < 0)
                return -1;
    return 0;
}

/* ---- copying out of the decompiler's tables ---- */

static int hand_over(struct dc *c, uint32_t number, struct graph_expr **made, struct arena *arena)
{
    const struct dc_expr *from = &c->exprs[number];
    struct graph_expr *e = arena_new(arena, struct graph_expr);
    const struct graph_expr **kids = arena_array(arena, from->n, sizeof(struct graph_expr *));
    if (!e || !kids)
        return err_nomem(c->err);
    *e = (struct graph_expr){
        .kind = (enum graph_expr_kind)from->kind, .nkids = from->n, .kids = kids};
    if (from->kind == GRAPH_TEST)
        e->test = *c->tests[from->test];
    for (uint32_t i = 0; i < from->n; i++)
        kids[i] = made[c->kids[from->kids + i]];
    made[number] = e;
    return 0;
}

/* Operands have smaller numbers than their operators. */
static int hand_over_all(struct dc *c, uint32_t numbers[OP_COUNT][ALLOW_TERMS], struct arena *arena,
                         struct allow_conditions *out)
{
    bool *wanted = arena_array(&c->arena, c->nexprs + 1u, sizeof(*wanted));
    struct graph_expr **made = arena_array(&c->arena, c->nexprs + 1u, sizeof(*made));
    if (!wanted || !made)
        return err_nomem(c->err);
    for (uint32_t op = 0; op < OP_COUNT; op++)
        for (int t = 0; t < ALLOW_TERMS; t++)
            wanted[numbers[op][t]] = true;
    for (uint32_t i = c->nexprs; i-- > 0;)
        for (uint32_t k = 0; wanted[i] && k < c->exprs[i].n; k++)
            wanted[c->kids[c->exprs[i].kids + k]] = true;
    for (uint32_t i = 0; i < c->nexprs; i++)
        if (wanted[i] && hand_over(c, i, made, arena) < 0)
            return -1;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        for (int t = 0; t < ALLOW_TERMS; t++)
            out->when[op][t] = made[numbers[op][t]];
    return 0;
}

int allow_conditions_make(const struct graph *g, struct arena *arena, struct allow_conditions *out,
                          struct bk_err *err)
{
    uint32_t numbers[OP_COUNT][ALLOW_TERMS];
    struct dc c = {.g = g, .err = err, .op = OP_DEFAULT};
    arena_init(&c.arena, MAX_BYTES);
    int r = dc_dag_make(&c);
    if (r == 0)
        r = read_conditions(&c, numbers);
    if (r == 0)
        r = hand_over_all(&c, numbers, arena, out);
    arena_free(&c.arena);
    return r;
}
