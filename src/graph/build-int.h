/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_BUILD_INT_H
#define BK_GRAPH_BUILD_INT_H

#include "graph/build.h"
#include "graph/graph-int.h"

/* Private to src/graph: the state of a build, and what the files that build share. */

struct intern_table {
    uint32_t *slots; /* index + 1, or 0 */
    uint32_t mask, count;
};

struct graph_build {
    struct graph *g;
    size_t bytes; /* of growing arrays, which share the arena's budget */
    uint32_t cap_nodes, cap_tests, cap_mods, cap_rules, cap_bodies, cap_items;
    struct intern_table test_table, node_table;
    uint64_t seed;
    uint32_t policy; /* the nested policy under construction, or 0 */
    const char *last_file;
    uint64_t work;   /* items compiled so far */
    uint32_t *given; /* entries from a producer of nodes, OP_COUNT per policy, or NULL */
    uint32_t ngiven, cap_given;
};

/* Makes room for one more element. */
int build_room(struct graph_build *b, void *array, uint32_t *cap, uint32_t count, size_t size,
               struct bk_err *err);
int build_exhausted(struct graph_build *b, struct bk_err *err);

/* Returns the index of an equal test, added if there is none. */
int intern_test(struct graph_build *b, const struct graph_test *t, uint32_t *test,
                struct bk_err *err);
/* If both edges are equal, the result is that edge. */
int intern_node(struct graph_build *b, uint32_t test, uint32_t match, uint32_t unmatch,
                uint32_t rule, uint32_t *node, struct bk_err *err);
void intern_free(struct graph_build *b);

/* Adds a rule that is not written. */
int build_rule_add(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err);

/* build.c: adds the rules that the written ones imply. */
int build_infer(struct graph_build *b, struct bk_err *err);

/* nodes.c: turns the given entries into the graph's. */
int nodes_enter(struct graph_build *b, struct bk_err *err);

/* compile.c: rules → nodes and entries. */
int graph_compile(struct graph_build *b, struct bk_err *err);

/* uses.c: reports permissions if the policy asks for that. */
int graph_report_uses(struct graph_build *b, struct bk_err *err);

#endif
