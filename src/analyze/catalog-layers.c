/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Several policies for one process: what all of them allow. The last one, the process's profile,
 * determines the terms; if a platform policy allows something on terms, that counts as allowed.
 */

#include "analyze/catalog-int.h"
#include "graph/build.h"

static const struct graph_expr never = {.kind = GRAPH_ANY};

static uint32_t operands(const struct graph_expr *e, enum graph_expr_kind kind)
{
    return e->kind == kind ? e->nkids : 1;
}

static void append(const struct graph_expr *e, enum graph_expr_kind kind,
                   const struct graph_expr **kids, uint32_t *n)
{
    if (e->kind != kind)
        kids[(*n)++] = e;
    for (uint32_t i = 0; e->kind == kind && i < e->nkids; i++)
        kids[(*n)++] = e->kids[i];
}

/* Returns NULL when memory is exhausted. */
static const struct graph_expr *join(struct arena *arena, enum graph_expr_kind kind,
                                     const struct graph_expr *a, const struct graph_expr *b)
{
    uint32_t n = operands(a, kind) + operands(b, kind);
    struct graph_expr *e = arena_new(arena, struct graph_expr);
    const struct graph_expr **kids = arena_array(arena, n + 1u, sizeof(*kids));
    if (!e || !kids)
        return NULL;
    *e = (struct graph_expr){.kind = kind, .kids = kids};
    append(a, kind, kids, &e->nkids);
    append(b, kind, kids, &e->nkids);
    return e->nkids == 1 ? kids[0] : e;
}

static const struct graph_expr *both(struct arena *arena, const struct graph_expr *a,
                                     const struct graph_expr *b)
{
    if (condition_is_never(a) || condition_is_never(b))
        return &never;
    return condition_is_always(b) ? a : condition_is_always(a) ? b : join(arena, GRAPH_ALL, a, b);
}

/* On any terms. */
static const struct graph_expr *allowed_by(struct arena *arena,
                                           const struct graph_expr *const when[ALLOW_TERMS])
{
    const struct graph_expr *any = when[0];
    for (int t = 1; any && t < ALLOW_TERMS; t++)
        if (!condition_is_never(when[t]))
            any = condition_is_never(any) ? when[t] : join(arena, GRAPH_ANY, any, when[t]);
    return any;
}

static bool same_conditions(const struct allow_conditions *c, uint32_t a, uint32_t b)
{
    for (int t = 0; t < ALLOW_TERMS; t++)
        if (c->when[a][t] != c->when[b][t])
            return false;
    return true;
}

/* Operations that are allowed alike stay so: their conditions are one object. */
static bool put_on(struct arena *arena, const struct allow_conditions *platform,
                   const struct allow_conditions *below, struct allow_conditions *out)
{
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        uint32_t alike = 0;
        while (alike < op &&
               (!same_conditions(platform, alike, op) || !same_conditions(below, alike, op)))
            alike++;
        const struct graph_expr *of = allowed_by(arena, platform->when[op]);
        for (int t = 0; of && t < ALLOW_TERMS; t++) {
            out->when[op][t] =
                alike < op ? out->when[alike][t] : both(arena, of, below->when[op][t]);
            if (!out->when[op][t])
                return false;
        }
        if (!of)
            return false;
    }
    return true;
}

int catalog_conditions(const struct graph *const *layers, size_t n, struct arena *arena,
                       struct allow_conditions *out, struct bk_err *err)
{
    struct allow_conditions *platform = arena_new(arena, struct allow_conditions);
    struct allow_conditions *below = arena_new(arena, struct allow_conditions);
    if (!platform || !below)
        return err_nomem(err);
    if (allow_conditions_make(layers[n - 1], arena, out, err) < 0)
        return -1;
    for (size_t i = n - 1; i-- > 0;) {
        *below = *out;
        if (allow_conditions_make(layers[i], arena, platform, err) < 0)
            return -1;
        if (!put_on(arena, platform, below, out))
            return err_nomem(err);
    }
    return 0;
}
