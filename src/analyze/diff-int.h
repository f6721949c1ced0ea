/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_DIFF_INT_H
#define BK_ANALYZE_DIFF_INT_H

#include "analyze/analyze.h"
#include "graph/eval.h"
#include "graph/graph-int.h"

/* Private to the files that compare graphs. */

/* ---- diff-tests.c: the tests of both graphs, and which can hold together ---- */

/* Arguments for which all tests of a filter give the same results, with an example. */
struct kind {
    struct graph_fact fact;
    bool absent; /* the query has no such fact */
};

/* A filter for which a query has at most one value. */
struct dimension {
    struct kind *kinds;
    uint32_t n, cap;
    uint64_t *holds; /* while kinds are made: nwords of the filter's tests for each kind */
    uint32_t *slots; /* kinds by the tests that hold */
    uint32_t mask;
    uint32_t *all, nall;     /* tests of this filter */
    uint32_t *tests, ntests; /* those that matter now */
    bool made, failed;
    bool partial; /* kinds are missing */
};

struct diff_tests {
    struct arena *arena; /* of kinds: emptied when others matter */
    bool fold;
    bool sampling;                /* kinds of strings are samples */
    const struct graph_test **at; /* of both graphs, without duplicates */
    uint32_t n;
    uint32_t *index[2];  /* test of a graph → index here */
    uint32_t *local;     /* test → its number within its dimension */
    uint64_t **kinds_of; /* test of a finished dimension → bit set of kinds for which it holds */
    struct dimension dims[FILTER_COUNT];
};

/* Returns false when memory is exhausted. */
bool diff_tests_join(struct diff_tests *t, const struct graph *a, const struct graph *b);
/* From now on only these tests matter (by test), which makes few kinds of them. */
bool diff_tests_narrow(struct diff_tests *t, const bool *matters);
bool diff_is_single(uint16_t filter);
/* Returns the filter's kinds, computed on first use; NULL when there are too many. */
const struct dimension *diff_kinds(struct diff_tests *t, uint16_t filter);

/* A set of the filter's patterns, in the order of its tests; NULL when that is too much. */
struct regex_set *diff_strings(struct diff_tests *t, const struct dimension *d, uint16_t filter);
/* Adds a kind for which exactly these tests hold. set: room for them. */
bool diff_add_kind(struct diff_tests *t, struct dimension *d, const uint32_t *ids, size_t n,
                   uint64_t *set, const struct kind *example);
/* diff-samples.c */
bool diff_sample_strings(struct diff_tests *t, struct dimension *d, uint16_t filter, uint64_t *set);

/* ---- diff-bdd.c: ordered decision diagrams ---- */

enum {
    BDD_NONE = 0xffffffffu,
    BDD_LEAF = 0xffffffffu, /* instead of a variable */
};

struct bdd_node {
    uint32_t var, hi, lo; /* hi: number of a leaf */
};

struct bdd_cached {
    uint32_t var, hi, lo, is;
};

struct bdd {
    struct bdd_node *nodes;
    uint32_t n, cap, limit; /* of nodes */
    uint64_t steps, max_steps;
    uint32_t *slots, mask;
    struct bdd_cached *cache;
    bool exhausted;
};

bool bdd_init(struct bdd *b);
void bdd_free(struct bdd *b);
/* Forgets all nodes but the first n. */
void bdd_rewind(struct bdd *b, uint32_t n);
uint32_t bdd_leaf(struct bdd *b, uint32_t leaf);
/* If var then hi else lo, whatever variables hi and lo use. BDD_NONE when that takes too much. */
uint32_t bdd_choose(struct bdd *b, uint32_t var, uint32_t hi, uint32_t lo);

enum { DIFF_FACTS = 64, DIFF_STRINGS = 8 }; /* of a witness */

/* ---- diff.c, and diff-kinds.c for comparison kind by kind ---- */

/* A leaf's decision. Message filters are compared by content if necessary. */
struct decision {
    const struct graph *g;
    const struct graph_node *node;
    uint32_t policy[2]; /* by side, of the first such decision; 0: none */
    uint32_t filter;    /* number of the policy's content */
};

struct diff_joint;
struct diff_related;

struct differ {
    const struct graph *g[2];
    struct graph_diff_how how;
    struct graph_cache *cache[2];
    struct arena arena, kinds;
    struct diff_tests tests;
    uint32_t *var_of, *test_of; /* test → its position in the order, and back */
    struct bdd bdd;
    uint32_t *made[2]; /* by node of a graph: its diagram */
    bool *large[2];    /* … which is too large */
    struct decision *decisions;
    uint32_t ndecisions, cap_decisions;
    uint32_t *filters[2];   /* by policy: number of its content */
    uint32_t *message_rows; /* content of message filters: a diagram per message operation */
    uint32_t nfilters, nmessages;

    int8_t *settled; /* by independent test: -1 not yet */
    struct {
        size_t at; /* remaining kinds: offset in sets */
        bool used;
    } left[FILTER_COUNT];
    uint64_t *sets;
    size_t nsets, cap_sets;
    uint64_t steps, followed, max_followed;
    struct diff_joint *joint;                /* of diff-kinds.c */
    struct diff_related *related;            /* of diff-related.c, while it walks; else NULL */
    uint64_t state;                          /* what is known on the way down, as a hash */
    struct graph_fact strings[DIFF_STRINGS]; /* for a witness, where kinds have none */
    size_t nstrings;
    struct graph_difference out;
    const struct kind *region; /* an example of what is left, or NULL */
    uint32_t (*pairs)[2];      /* message filters of decisions that are otherwise equal */
    uint32_t npairs;
    bool found, undecided;
    uint32_t equal[OP_COUNT][2], nequal; /* pairs of entries already compared */
};

/* diff-witness.c: fills d->out from what is settled. Sets d->found if it shows a difference, else
 * d->undecided. same_verdict: expect no difference in allow and flags. */
void diff_bear_witness(struct differ *d, bool same_verdict);
/* Fills d->out with an example of what is left. */
void diff_show_region(struct differ *d);
/* A decision as a diagram. */
uint32_t diff_leaf(struct differ *d, int side, const struct graph_node *n);
/* Looks for an argument on which the diagrams of both sides differ: sets d->found or
 * d->undecided. */
void diff_walk(struct differ *d, uint32_t a, uint32_t b, unsigned depth);
/* diff-related.c: between begin and end, diff_walk() compares strings by pairs of tests. */
bool diff_related_begin(struct differ *d);
void diff_related_end(struct differ *d);
bool diff_is_related(const struct differ *d, uint16_t filter);
bool diff_related_seen(struct differ *d, uint32_t a, uint32_t b);
void diff_branch_related(struct differ *d, uint32_t test, const uint32_t to[2][2], unsigned depth);
/* Two decisions differ: sets d->found if an argument shows it, else d->undecided. */
void diff_related_witness(struct differ *d);
uint64_t diff_mix(uint64_t a, uint64_t b);
/* The same for nodes of both graphs. */
void diff_walk_kinds(struct differ *d, const uint32_t entry[2]);
void diff_joint_free(struct diff_joint *j); /* NULL is fine */

#endif
