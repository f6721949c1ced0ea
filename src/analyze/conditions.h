/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_CONDITIONS_H
#define BK_ANALYZE_CONDITIONS_H

#include "base/arena.h"
#include "graph/build.h"
#include "graph/graph.h"

/*
 * Policy graph → the condition under which each operation is allowed. It is exact: the operation is
 * allowed if and only if one of its conditions holds. Only tests are negated.
 */

/* The terms on which an operation is allowed: modifiers that change its meaning. */
enum allow_terms {
    ALLOW_FREELY,
    ALLOW_ASKED,    /* (with user-approval …): once the user agrees */
    ALLOW_FILTERED, /* (apply-message-filter …): some messages only */
    ALLOW_OUTSIDE,  /* (with no-sandbox): the started program is not bound by the profile */
    ALLOW_TERMS,
};

struct allow_conditions {
    /* Equal ones are one object. (require-all) of nothing: always; (require-any) of nothing: never.
     * Operations of message filters are never allowed. */
    const struct graph_expr *when[OP_COUNT][ALLOW_TERMS];
};

/* Conditions are in the arena and point into the graph. Fails if the conditions would multiply as
 * formulas; *out is then undefined. */
int allow_conditions_make(const struct graph *g, struct arena *arena, struct allow_conditions *out,
                          struct bk_err *err);

static inline bool condition_is_never(const struct graph_expr *e)
{
    return e->kind == GRAPH_ANY && e->nkids == 0;
}

static inline bool condition_is_always(const struct graph_expr *e)
{
    return e->kind == GRAPH_ALL && e->nkids == 0;
}

#endif
