/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_STACK_H
#define BK_ANALYZE_STACK_H

#include "analyze/analyze.h"

/*
 * Several policies over one process: the platform's, then its own. What any of them denies is
 * denied; an allow in one does not override a deny in another. Extensions that the process holds
 * change no rule: they are facts, which only filters (extension …) ask for, and an extension holds
 * for what it was issued for.
 */

struct graph_layer {
    const char *role; /* "platform", "profile" */
    const char *name; /* for people */
    const struct graph *graph;
    struct graph_cache *cache;
};

struct graph_extension {
    const char *kind;  /* com.apple.app-sandbox.read */
    const char *value; /* the path (with what lies below) or the name; NULL: anything */
};

struct graph_stack {
    const struct graph_layer *layers; /* asked in this order */
    size_t nlayers;
    const struct graph_extension *extensions;
    size_t nextensions;
};

struct graph_stack_verdict {
    size_t layer; /* the first that denies, else the last */
    struct graph_verdict verdict;
};

/* Whether the extension holds for what the question is about. */
bool graph_extension_holds(const struct graph_stack *s, const struct graph_extension *e,
                           const struct graph_query *q);

/* The question with a fact for each extension that holds: facts has room for those of q and all
 * extensions. */
struct graph_query graph_stack_query(const struct graph_stack *s, const struct graph_query *q,
                                     struct graph_fact *facts);

/* q as graph_stack_query() made it. Without layers everything is denied. */
struct graph_stack_verdict graph_stack_eval(const struct graph_stack *s,
                                            const struct graph_query *q);

/* Layer by layer, and what extensions had to do with it. q is the question itself. */
void graph_stack_explain_text(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out);
void graph_stack_explain_json(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out);

#endif
