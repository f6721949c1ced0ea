/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_BUILD_H
#define BK_GRAPH_BUILD_H

#include "base/err.h"
#include "graph/graph.h"

/* Making a graph, from rules or from nodes. Every int here is 0, or -1 with *err set. */

enum graph_expr_kind { GRAPH_TEST, GRAPH_ANY, GRAPH_ALL, GRAPH_NOT };

/* A condition. (require-any) of nothing never holds, (require-all) of nothing always does. */
struct graph_expr {
    enum graph_expr_kind kind;
    uint32_t nkids;
    const struct graph_expr *const *kids; /* ANY, ALL; NOT has one */
    struct graph_test test;               /* TEST */
};

struct graph_rule {
    const uint16_t *ops; /* enum vocab_op */
    size_t nops;
    bool allow;
    uint32_t flags; /* decision bits after all modifiers: a producer starts from
                       VOCAB_FLAG_REPORT for deny, 0 for allow; the builder sets bit 0 */
    const struct graph_mod *mods;
    size_t nmods;
    const struct graph_expr *when; /* NULL: unfiltered */
    struct graph_origin origin;
};

struct graph_build;

struct graph_build *graph_build_new(const struct graph_options *opt, struct bk_err *err);
void graph_build_free(struct graph_build *b); /* NULL is fine */

/* Adds a rule; call it in source order. Everything is copied. The builder applies precedence:
 *  - a filtered rule goes to the front of its operation's list, so the last one written wins;
 *  - an unfiltered rule replaces the list's tail;
 *  - a list without a tail continues with the parent operation's list. */
int graph_build_rule(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err);

/* A nested policy for (apply-message-filter …): rules added between begin and end belong to it.
 * The number that end stores goes into graph_mod.num of a MOD_MESSAGE_FILTER modifier. A nested
 * policy cannot contain another. */
int graph_build_policy_begin(struct graph_build *b, struct bk_err *err);
int graph_build_policy_end(struct graph_build *b, int64_t *policy, struct bk_err *err);

/*
 * For producers that already have nodes: compiled profiles. Add nodes bottom up, so that every edge
 * leads to an existing node; equal nodes are merged. A builder takes rules or nodes, not both: once
 * entries are given, they define the policy. Node numbers are valid until the graph is frozen.
 */
int graph_build_decision(struct graph_build *b, const struct graph_rule *rule, uint32_t *node,
                         struct bk_err *err); /* ignores ops and when */
int graph_build_filter(struct graph_build *b, const struct graph_test *test, uint32_t match,
                       uint32_t unmatch, uint32_t *node, struct bk_err *err);
/* Returns what a node tests, and where it leads when the test fails; NULL for a decision. */
const struct graph_test *graph_build_test(const struct graph_build *b, uint32_t node,
                                          uint32_t *unmatch);
/* Sets the entry node of every operation (OP_COUNT) of the profile, or of a nested policy. Give
 * entries for all policies, in the order of graph_build_policy_begin() and _end(). */
int graph_build_entries(struct graph_build *b, uint32_t policy, const uint32_t *entries,
                        struct bk_err *err);

/* Whether a test is for the extension of one of these protected classes. */
bool graph_test_in_classes(const struct graph_test *t, unsigned classes);

/* Facts about the profile that are not rules: (debug …), (trace …). */
int graph_build_note(struct graph_build *b, const char *key, const char *value, struct bk_err *err);

/* Returns a checked graph, or NULL. Consumes the builder, also on failure. */
struct graph *graph_freeze(struct graph_build *b, struct bk_err *err);

/* Returns the policy that allows what both allow, or NULL. The rules of the first keep their
 * numbers, those of the second follow. A denial by both has the first's rule, and what is allowed
 * has the second's. */
struct graph *graph_conjoin(const struct graph *first, const struct graph *second,
                            struct bk_err *err);
/* The same, but `by` counts only where one of these tests holds (n > 0). */
struct graph *graph_narrow(const struct graph *by, const struct graph *policy,
                           const struct graph_test *tests, size_t n, struct bk_err *err);

/* An extension that a process holds. */
struct graph_extension {
    const char *kind;  /* com.apple.app-sandbox.read */
    const char *value; /* the path (with everything below) or the name; NULL: anything */
};

/* Returns the policy of a process that holds these, or NULL: what (extension …) asks is whether the
 * operation is about what one of them was issued for. Rules keep their numbers. */
struct graph *graph_extend(const struct graph *g, const struct graph_extension *held, size_t n,
                           struct bk_err *err);

#endif
