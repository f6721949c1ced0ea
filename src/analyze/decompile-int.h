/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_DECOMPILE_INT_H
#define BK_ANALYZE_DECOMPILE_INT_H

#include "analyze/decompile.h"
#include "base/arena.h"
#include "graph/build.h"

/* Private to the files of the decompiler. */

enum { DC_NONE = 0xffffffffu };

/* ---- decompile-dag.c: the graph with equal decisions merged ---- */

/* A decision without the rule it came from. */
struct dc_leaf {
    bool allow;
    uint32_t flags;
    const struct graph_mod *mods; /* those that are not message filters */
    uint32_t nmods;
    uint32_t policy; /* the message filter (the first of equal ones), or 0 */
};

/* Children have smaller numbers. Leaves have test == DC_NONE and a dc_leaf number in match. */
struct dc_node {
    uint32_t test, match, unmatch;
};

struct dc_table {
    uint32_t *slots; /* index + 1, or 0 */
    uint32_t mask, count;
};

struct dc_expr {
    uint8_t kind;     /* enum graph_expr_kind */
    uint32_t size;    /* tests when written out */
    uint32_t depth;   /* operators above the deepest test */
    uint32_t test;    /* TEST */
    uint32_t kids, n; /* ANY, ALL, NOT: range of kids */
    uint32_t seen;    /* the last list of operands that included it */
    uint32_t used;    /* how often the text mentions it */
    uint32_t name;    /* number of its (define …), or 0 */
    uint64_t uses[2]; /* filters, a bit set */
};

_Static_assert(FILTER_COUNT <= 128, "filters are a 128-bit set");

struct dc {
    const struct graph *g;
    struct arena arena;
    struct bk_err *err;
    uint64_t work;
    enum vocab_op op; /* being written, for errors */

    const struct graph_test **tests; /* the graph's, then those of implicit rules */
    uint32_t ntests, cap_tests;
    struct dc_leaf *leaves;
    uint32_t nleaves, cap_leaves;
    struct dc_node *nodes;
    uint32_t nnodes, cap_nodes;
    struct dc_table node_table;
    uint32_t *node_of;   /* node of the graph → node here */
    uint32_t *policy_of; /* message filter → first of equal ones */
    uint32_t yes, no;    /* leaves that are not decisions */

    uint32_t *mark, *map; /* by node: the last walk that reached it, and its result */
    uint32_t cap_mark, stamp;
    uint32_t *heap, nheap, cap_heap;
    uint32_t *met, cap_met;             /* nodes of one walk */
    uint32_t *parts, nparts, cap_parts; /* pending operands */

    struct dc_expr *exprs;
    uint32_t nexprs, cap_exprs, seen;
    uint32_t *kids;
    uint32_t nkids, cap_kids;
    struct dc_table expr_table;
    struct dc_memo {
        uint32_t n, yes, no, expr;
    } * memo;
    uint32_t nmemo, memo_mask;

    struct shortcuts *shortcuts;

    int version;
    bool no_inference; /* (disable-syscall-inference) */
    bool no_inferred;  /* (disable-rule-inference) */
    bool unchecked;    /* (disable-rule-checks) */
};

int dc_room(struct dc *c, void *array, uint32_t *cap, uint32_t want, size_t size);
int dc_spend(struct dc *c, uint64_t work); /* -1 when the budget is exhausted */

/* Makes room in a table for one more; hash maps an element's number to its hash. */
typedef uint32_t dc_hash_fn(const struct dc *c, uint32_t number);
int dc_table_grow(struct dc *c, struct dc_table *t, dc_hash_fn *hash);

int dc_dag_make(struct dc *c);
int dc_leaf(struct dc *c, const struct dc_leaf *leaf, uint32_t *node);
int dc_plain(struct dc *c, bool allow, uint32_t *node);
int dc_filter(struct dc *c, uint32_t test, uint32_t match, uint32_t unmatch, uint32_t *node);
int dc_test(struct dc *c, const struct graph_test *t, uint32_t *test);

static inline bool dc_is_leaf(const struct dc *c, uint32_t node)
{
    return c->nodes[node].test == DC_NONE;
}

static inline const struct dc_leaf *dc_leaf_at(const struct dc *c, uint32_t node)
{
    return &c->leaves[c->nodes[node].match];
}

/* Starts a new walk in which no node has been reached. */
int dc_walk_begin(struct dc *c);
void dc_heap_push(struct dc *c, uint32_t node); /* room for every node is reserved */
uint32_t dc_heap_pop(struct dc *c);             /* the largest */
bool dc_reaches(struct dc *c, uint32_t from, uint32_t to);
/* The same if that test holds. */
bool dc_reaches_with(struct dc *c, uint32_t from, uint32_t to, uint32_t holds);

/* ---- decompile-shortcuts.c ---- */

/* Rebuilds the graph above base (DC_NONE: all of it) without jumps past tests that cannot hold. */
int dc_undo_shortcuts(struct dc *c, uint32_t entry, uint32_t base, uint32_t *out);

/* What a graph becomes if a test holds; the last case has DC_NONE for a test: all other values. */
struct dc_case {
    uint32_t test, entry;
};
/* Splits a graph by the values of the filter that it tests most. */
int dc_cases(struct dc *c, uint32_t entry, struct dc_case **cases, uint32_t *n);

/* ---- decompile-expr.c: conditions ---- */

int dc_expr_test(struct dc *c, uint32_t test, uint32_t *expr);
int dc_expr_make(struct dc *c, enum graph_expr_kind kind, const uint32_t *kids, uint32_t n,
                 uint32_t *expr);

/* Rewrites the piece of graph below n, whose ends are the given nodes, to the two ends yes and
 * no. */
int dc_two_ends(struct dc *c, uint32_t n, const uint32_t *ends, const bool *is_yes, uint32_t nends,
                uint32_t *out);

/* Computes when a walk from n ends in yes rather than no; it must not reach any other end. */
int dc_condition(struct dc *c, uint32_t n, uint32_t yes, uint32_t no, unsigned depth,
                 uint32_t *expr);

/* ---- decompile-rules.c: the rules to write for each operation ---- */

/* One rule. The first of a list is evaluated first. */
struct dc_step {
    uint32_t leaf; /* a node */
    uint32_t when; /* an expression, or DC_NONE: unfiltered */
};

struct dc_list {
    struct dc_step *steps;
    uint32_t n, cap;
};

struct dc_rule {
    uint16_t *ops;
    uint32_t nops;
    struct dc_step step;
    uint16_t family; /* the operation that it is listed under */
};

struct dc_rules {
    struct dc_rule *at;
    uint32_t n, cap;
};

/* Computes the rules of the profile (policy 0) or of a message filter, in the order to write
 * them. */
int dc_rules_make(struct dc *c, uint32_t policy, const bool *ops, struct dc_rules *out);
/* decompile-join.c: merges all operations' lists, which it changes, into one list of rules. */
int dc_rules_join(struct dc *c, struct dc_list lists[OP_COUNT], struct dc_rules *out);
/* Returns the version whose built-in rules fit best. */
int dc_version_guess(struct dc *c, const bool *ops);

/* ---- decompile-print.c ---- */

int dc_print(struct dc *c, const struct dc_rules *profile, const struct dc_rules *nested,
             const struct decompile_options *opt, struct buf *out);

#endif
