/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The graph as text. Operations that share an entry share a heading. Below it are the nodes that
 * this heading reaches and no earlier one did, from the entry downwards, so every node is printed
 * once. A number in a node's line is the node that its edge leads to.
 *
 *     file-read* file-read-data:
 *       4  (subpath "/usr")  yes 3, no 0    a.sb:3
 *       3  allow                            a.sb:3
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/graph-int.h"
#include "graph/words.h"

enum { LINE_WIDTH = 96, PLACE_COLUMN = 56 };

void graph_place_print(const struct graph_rule_info *r, struct buf *out)
{
    if (r->implicit)
        buf_str(out, "implicit");
    else if (r->is_default)
        buf_str(out, "built-in");
    else if (r->compiled && r->origin.text)
        buf_safe(out, r->origin.text, strlen(r->origin.text));
    else if (!r->origin.file || !r->origin.line)
        buf_str(out, "nowhere");
    else {
        buf_safe(out, r->origin.file, strlen(r->origin.file));
        buf_fmt(out, ":%u", r->origin.line);
    }
}

/* Flag bits by the name of the modifier that sets them; the rest as a number. Modifiers with more
 * bits come first: telemetry-backtrace includes telemetry. */
static void print_flags(uint32_t rest, struct buf *out)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t m = 0; m < MOD_COUNT; m++) {
            uint32_t flag = vocab_modifiers[m].flag;
            bool many = (flag & (flag - 1)) != 0;
            if (!flag || many != (pass == 0) || (rest & flag) != flag)
                continue;
            buf_fmt(out, " %s", vocab_modifiers[m].name);
            rest &= ~flag;
        }
    if (rest)
        buf_fmt(out, " flags 0x%x", rest);
}

void graph_modifiers_print(const struct graph *g, const struct graph_node *n, struct buf *out)
{
    print_flags(n->flags & ~(uint32_t)VOCAB_FLAG_DENY, out);
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = &g->mods[n->mods + i];
        const char *name = m->str ? NULL : vocab_modifier_constant_name(m->id, m->num);
        buf_fmt(out, " %s ", vocab_modifiers[m->id].name);
        if (m->str)
            buf_sbpl(out, m->str, strlen(m->str));
        else if (name)
            buf_str(out, name);
        else
            buf_fmt(out, "%lld", (long long)m->num);
    }
}

void graph_decision_print(const struct graph *g, const struct graph_node *n, struct buf *out)
{
    buf_str(out, n->allow ? "allow" : "deny");
    graph_modifiers_print(g, n, out);
}

/* ---- which operations go together ---- */

int graph_headings(const struct graph *g, uint32_t policy, enum vocab_op only,
                   struct heading *headings)
{
    int n = 0;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        if (only != OP_NONE && op != only)
            continue;
        /* Message-filter operations are in nested policies, the others in the profile. */
        if (only == OP_NONE && vocab_ops[op].message_filter != (policy > 0))
            continue;
        uint32_t node = graph_policy_entry(g, policy, (enum vocab_op)op);
        int k = 0;
        while (k < n && headings[k].node != node)
            k++;
        if (k == n)
            headings[n++] = (struct heading){.node = node};
        headings[k].ops[headings[k].nops++] = (uint16_t)op;
    }
    return n;
}

uint8_t *graph_reachable(const struct graph *g, enum vocab_op op)
{
    uint8_t *mark = calloc(g->nnodes, 1);
    if (!mark)
        return NULL;
    for (uint32_t p = 0; p <= (op == OP_NONE ? g->npolicies : 0); p++)
        for (uint32_t o = 0; o < OP_COUNT; o++)
            if (op == OP_NONE ? vocab_ops[o].message_filter == (p > 0) : o == op)
                mark[graph_policy_entry(g, p, (enum vocab_op)o)] = 1;
    for (uint32_t i = g->nnodes; i-- > 0;)
        if (mark[i] && g->nodes[i].kind == GRAPH_NODE_FILTER)
            mark[g->nodes[i].match] = mark[g->nodes[i].unmatch] = 1;
    return mark;
}

/* Headings that would list most of the vocabulary, and change whenever it grows, become words. */
bool graph_heading_words(const struct graph *g, const struct heading *h, struct buf *out)
{
    const struct graph_node *n = &g->nodes[h->node];
    bool built_in =
        n->kind == GRAPH_NODE_DECISION && n->rule != GRAPH_NO_RULE && g->rules[n->rule].is_default;
    if (h->ops[0] == OP_DEFAULT && h->nops > 1)
        buf_str(out, "default and every operation not listed");
    else if (built_in && h->ops[0] != OP_DEFAULT && h->nops > 1)
        buf_fmt(out, "operations that version %d %s by default", g->opt.version,
                n->allow ? "allows" : "denies");
    else
        return false;
    return true;
}

static void print_heading(const struct graph *g, const struct heading *h, bool whole,
                          struct buf *out)
{
    size_t line = out->n;
    if (whole && graph_heading_words(g, h, out)) {
        buf_str(out, ":\n");
        return;
    }
    for (uint32_t i = 0; i < h->nops; i++) {
        const char *name = vocab_ops[h->ops[i]].name;
        if (i && out->n - line + strlen(name) + 2 > LINE_WIDTH) {
            buf_chr(out, '\n');
            line = out->n;
        } else if (i) {
            buf_chr(out, ' ');
        }
        buf_str(out, name);
    }
    buf_str(out, ":\n");
}

/* ---- nodes ---- */

static void print_node(const struct graph *g, uint32_t node, struct buf *out)
{
    const struct graph_node *n = &g->nodes[node];
    OWN(buf) struct buf line = {0};
    buf_fmt(&line, "%6u  ", node);
    if (n->kind == GRAPH_NODE_FILTER) {
        OWN(buf) struct buf test = {0};
        graph_test_print(&g->tests[n->test], &test);
        buf_safe(&line, test.s ? test.s : "", test.n);
        buf_fmt(&line, "  yes %u, no %u", n->match, n->unmatch);
    } else {
        graph_decision_print(g, n, &line);
    }
    if (n->rule != GRAPH_NO_RULE) {
        buf_str(&line, "  ");
        while (buf_ok(&line) && line.n < PLACE_COLUMN)
            buf_chr(&line, ' ');
        graph_place_print(&g->rules[n->rule], &line);
    }
    buf_add(out, line.s ? line.s : "", line.n);
    buf_chr(out, '\n');
}

/* Prints and marks the unmarked nodes reachable from `from`, from the top. */
static void print_reachable(const struct graph *g, uint32_t from, uint8_t *mark, struct buf *out)
{
    enum { FRESH, WANTED, PRINTED };
    if (mark[from] == PRINTED) {
        buf_fmt(out, "%6u  as above\n", from);
        return;
    }
    mark[from] = WANTED;
    uint32_t wanted = 1;
    for (uint32_t i = from; wanted > 0; i--) {
        if (mark[i] != WANTED)
            continue;
        const struct graph_node *n = &g->nodes[i];
        uint32_t kids[2] = {n->match, n->unmatch};
        for (int k = 0; n->kind == GRAPH_NODE_FILTER && k < 2; k++)
            if (mark[kids[k]] == FRESH) {
                mark[kids[k]] = WANTED;
                wanted++;
            }
        print_node(g, i, out);
        mark[i] = PRINTED;
        wanted--;
    }
}

static void print_policy(const struct graph *g, uint32_t policy, enum vocab_op op,
                         struct heading *headings, uint8_t *mark, struct buf *out)
{
    int n = graph_headings(g, policy, op, headings);
    if (policy)
        buf_fmt(out, "\nmessage filter %u\n", policy);
    for (int i = 0; i < n; i++) {
        buf_chr(out, '\n');
        print_heading(g, &headings[i], op == OP_NONE, out);
        print_reachable(g, headings[i].node, mark, out);
    }
}

void graph_print_text(const struct graph *g, enum vocab_op op, struct buf *out)
{
    OWN(mem) struct heading *headings = calloc(OP_COUNT, sizeof(*headings));
    OWN(mem) uint8_t *mark = calloc(g->nnodes, 1);
    if (!headings || !mark) {
        out->failed = true;
        return;
    }
    if (g->nrules && g->rules[0].compiled)
        buf_fmt(out, "compiled, ");
    else
        buf_fmt(out, "version %d, ", g->opt.version);
    buf_fmt(out, "%u rule%s, %u test%s, %u node%s\n", g->nrules, plural(g->nrules), g->ntests,
            plural(g->ntests), g->nnodes, plural(g->nnodes));
    for (const struct note *n = g->notes; n; n = n->next) {
        buf_fmt(out, "%s ", n->key);
        buf_sbpl(out, n->value ? n->value : "", n->value ? strlen(n->value) : 0);
        buf_chr(out, '\n');
    }
    print_policy(g, 0, op, headings, mark, out);
    for (uint32_t p = 1; op == OP_NONE && p <= g->npolicies; p++)
        print_policy(g, p, op, headings, mark, out);
}
