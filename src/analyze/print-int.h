/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_PRINT_INT_H
#define BK_ANALYZE_PRINT_INT_H

#include "analyze/analyze.h"
#include "graph/graph-int.h"

/* Shared by the text, dot and JSON printers. */

/* Operations that share an entry. */
struct heading {
    uint32_t node, nops;
    uint16_t ops[OP_COUNT];
};

/* Fills headings (room for OP_COUNT) in the order of their first operation; returns how many. */
int graph_headings(const struct graph *g, uint32_t policy, enum vocab_op only,
                   struct heading *headings);

/* "a.sb:3", "implicit", "built-in". */
void graph_place_print(const struct graph_rule_info *r, struct buf *out);

/* Prints words instead of names for a heading that covers most of the vocabulary; else returns
 * false. */
bool graph_heading_words(const struct graph *g, const struct heading *h, struct buf *out);

/* " report errno EPERM". */
void graph_modifiers_print(const struct graph *g, const struct graph_node *n, struct buf *out);
/* "deny report errno EPERM". */
void graph_decision_print(const struct graph *g, const struct graph_node *n, struct buf *out);

/* Returns one byte per node: whether op (OP_NONE: any operation of the profile) reaches it. The
 * caller frees it. NULL when memory is exhausted. */
uint8_t *graph_reachable(const struct graph *g, enum vocab_op op);

/* A rule as one JSON object. */
void graph_rule_json(const struct graph *g, uint32_t rule, struct buf *out);

#endif
