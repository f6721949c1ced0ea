/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_STACK_H
#define BK_ANALYZE_STACK_H

#include "analyze/analyze.h"
#include "graph/build.h"
#include "graph/eval.h"

/*
 * Several policies for one process: the platform's, then its profile. If any of them denies, the
 * result is deny; an allow in one does not override a deny in another. Extensions of the process
 * change no rules: they are facts that only (extension …) filters test, and an extension applies
 * only to what it was issued for.
 */

struct graph_layer {
    const char *role; /* "platform", "profile" */
    const char *name; /* for messages */
    const struct graph *graph;
    struct graph_cache *cache;
};

struct graph_stack {
    const struct graph_layer *layers; /* evaluated in this order */
    size_t nlayers;
    const struct graph_extension *extensions;
    size_t nextensions;
};

struct graph_stack_verdict {
    size_t layer; /* the first that denies, else the last */
    struct graph_verdict verdict;
};

/* Whether the extension applies to the query's subject. */
bool graph_extension_holds(const struct graph_stack *s, const struct graph_extension *e,
                           const struct graph_query *q);

/* Returns the query with a fact for each extension that applies. facts has room for those of q and
 * all extensions. */
struct graph_query graph_stack_query(const struct graph_stack *s, const struct graph_query *q,
                                     struct graph_fact *facts);

/* q comes from graph_stack_query(). Without layers everything is denied. */
struct graph_stack_verdict graph_stack_eval(const struct graph_stack *s,
                                            const struct graph_query *q);

/* Explains layer by layer, and the effect of extensions. q is the original query. */
void graph_stack_explain_text(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out);
void graph_stack_explain_json(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out);

#endif
