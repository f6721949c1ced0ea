/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_ANALYZE_H
#define BK_ANALYZE_ANALYZE_H

#include "graph/eval.h"
#include "graph/graph.h"

/*
 * Read-only analyses of a frozen graph: print, explain, compare, and find rules that can never
 * decide. Nothing that enforces a policy depends on this.
 */

/* ---- printing ---- */

/* {"filter": "path", "how": "subpath", "sbpl": "(subpath \"/usr\")", "value": "/usr"} */
void graph_test_json(const struct graph_test *t, struct buf *out);
/* The whole graph, or one operation's part (op != OP_NONE). */
void graph_print_text(const struct graph *g, enum vocab_op op, struct buf *out);
void graph_print_dot(const struct graph *g, enum vocab_op op, struct buf *out);
void graph_print_json(const struct graph *g, enum vocab_op op, struct buf *out);

/* ---- explaining ---- */

/* The decision, the deciding rule with its position, and the rules tried before it, as text or
 * JSON. */
void graph_explain_text(const struct graph *g, struct graph_cache *cache,
                        const struct graph_query *q, struct buf *out);
void graph_explain_json(const struct graph *g, struct graph_cache *cache,
                        const struct graph_query *q, struct buf *out);

/* ---- comparing ---- */

enum graph_equality { GRAPH_EQUAL, GRAPH_UNDECIDED, GRAPH_DIFFERENT };

/* An operation, an argument for it, and the verdicts of both graphs. */
struct graph_difference {
    uint16_t op;
    bool nested;        /* op filters messages, in these policies; 0: that graph has no filter */
    uint32_t policy[2]; /* 0 otherwise */
    struct graph_fact *facts;
    size_t nfacts;
    struct graph_verdict verdict[2]; /* equal if only modifiers differ */
    /* Undecided: which arguments are left. They differ in the value of this filter (FILTER_NONE:
     * not known); `left` of `of` kinds of values are not compared (0: the kinds are too many to
     * list). facts are an example of what is left, with the verdicts of both. */
    uint16_t region;
    uint32_t left, of;
};

struct graph_diff_how {
    const bool *ops; /* OP_COUNT: those to compare; NULL: all */
    bool verdicts;   /* compare allow or deny only, not modifiers and message filters */
};

/* Calls each for every operation that the graphs decide differently, with a witness, and for those
 * where nothing could be proved, with what is left. *out is the worst result. EQUAL is a
 * proof; see diff.c for what may stay undecided. how NULL: compare everything. */
typedef void graph_diff_fn(void *arg, enum graph_equality how, const struct graph_difference *d);
int graph_diff(const struct graph *a, const struct graph *b, const struct graph_diff_how *how,
               graph_diff_fn *each, void *arg, enum graph_equality *out, struct bk_err *err);

/* Whether a allows only what b allows, for each operation (OP_COUNT). True is proved; false only
 * means that no proof was found. */
int graph_within(const struct graph *a, const struct graph *b, bool *within, struct bk_err *err);

/* ---- finding rules that can never decide ---- */

enum graph_lint_kind {
    GRAPH_LINT_SHADOWED,      /* a rule consulted earlier takes everything it could match */
    GRAPH_LINT_REPLACED,      /* an unfiltered rule replaced by a later one */
    GRAPH_LINT_CONTRADICTORY, /* its conditions exclude each other */
    GRAPH_LINT_IMPOSSIBLE,    /* a filter that nothing can match: "subpath foo", "^x" */
};

struct graph_lint {
    enum graph_lint_kind kind;
    uint32_t rule; /* the rule that never decides */
    uint32_t by;   /* the rule that decides instead, or GRAPH_NO_RULE */
    const char *why;
};
/* Calls found for each, in source order. Every report is proved. Work is bounded, so only a part of
 * a very large profile is checked. */
typedef void graph_lint_fn(void *arg, const struct graph_lint *lint);
void graph_lint(const struct graph *g, graph_lint_fn *found, void *arg);

/* ---- comparing tests ---- */

/* Whether no operation can satisfy both. True is proved; false only means that no proof was
 * found. */
bool graph_tests_exclude(const struct graph_test *a, const struct graph_test *b);

#endif
