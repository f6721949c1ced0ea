/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The graph as a picture for Graphviz: operations that share an entry in a box, tests as rounded
 * boxes with their SBPL, decisions in green and red with their rule.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/words.h"

enum { NAMES_A_LINE = 3, NAMES_MAX = 24, LABEL_MAX_BYTES = 120 };

/* Writes a label: escapes quotes and backslashes, and limits its length. */
static void label(const struct buf *text, struct buf *out)
{
    OWN(buf) struct buf safe = {0};
    bool cut = text->n > LABEL_MAX_BYTES;
    buf_safe(&safe, text->s ? text->s : "", cut ? LABEL_MAX_BYTES : text->n);
    for (size_t i = 0; i < safe.n; i++) {
        if (safe.s[i] == '"' || safe.s[i] == '\\')
            buf_chr(out, '\\');
        buf_chr(out, safe.s[i]);
    }
    buf_str(out, cut ? "…" : "");
}

static void heading_dot(const struct graph *g, const struct heading *h, uint32_t policy, bool whole,
                        struct buf *out)
{
    buf_fmt(out, "  p%u_%u [shape=box, style=filled, fillcolor=\"#e8eef7\", label=\"", policy,
            h->ops[0]);
    uint32_t shown = h->nops < NAMES_MAX ? h->nops : NAMES_MAX;
    if (whole && graph_heading_words(g, h, out))
        shown = 0;
    for (uint32_t i = 0; i < shown; i++) {
        buf_str(out, i == 0 ? "" : i % NAMES_A_LINE == 0 ? "\\n" : "  ");
        buf_str(out, vocab_ops[h->ops[i]].name);
    }
    if (shown && shown < h->nops)
        buf_fmt(out, "\\n… and %u more", h->nops - shown);
    buf_fmt(out, "\"];\n  p%u_%u -> n%u;\n", policy, h->ops[0], h->node);
}

static void node_dot(const struct graph *g, uint32_t node, struct buf *out)
{
    const struct graph_node *n = &g->nodes[node];
    OWN(buf) struct buf words = {0}, place = {0};
    if (n->kind == GRAPH_NODE_FILTER) {
        graph_test_print(&g->tests[n->test], &words);
        buf_fmt(out, "  n%u [shape=box, style=rounded, label=\"", node);
        label(&words, out);
        buf_fmt(out,
                "\"];\n  n%u -> n%u [label=\"yes\"];\n  n%u -> n%u [label=\"no\", "
                "style=dashed];\n",
                node, n->match, node, n->unmatch);
        return;
    }
    graph_decision_print(g, n, &words);
    buf_fmt(out, "  n%u [shape=ellipse, style=filled, fillcolor=\"%s\", label=\"", node,
            n->allow ? "#b9e2b4" : "#f3b6b0");
    label(&words, out);
    if (n->rule != GRAPH_NO_RULE) {
        graph_place_print(&g->rules[n->rule], &place);
        buf_str(out, "\\n");
        label(&place, out);
    }
    buf_str(out, "\"];\n");
}

static void policy_dot(const struct graph *g, uint32_t policy, enum vocab_op op,
                       struct heading *headings, struct buf *out)
{
    int n = graph_headings(g, policy, op, headings);
    for (int i = 0; i < n; i++)
        heading_dot(g, &headings[i], policy, op == OP_NONE && policy == 0, out);
}

void graph_print_dot(const struct graph *g, enum vocab_op op, struct buf *out)
{
    OWN(mem) struct heading *headings = calloc(OP_COUNT, sizeof(*headings));
    OWN(mem) uint8_t *wanted = graph_reachable(g, op);
    if (!headings || !wanted) {
        out->failed = true;
        return;
    }
    buf_str(out, "digraph policy {\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n"
                 "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (uint32_t p = 0; p <= (op == OP_NONE ? g->npolicies : 0); p++)
        policy_dot(g, p, op, headings, out);
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (wanted[i])
            node_dot(g, i, out);
    buf_str(out, "}\n");
}
