/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The graph as JSON: nodes, tests, rules and entries under the library's indices, so that a number
 * in one array refers to another. For a single operation, unreachable nodes are left out;
 * everything else is complete.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/words.h"

static void text(struct buf *out, const char *s)
{
    if (s)
        buf_json(out, s, strlen(s));
    else
        buf_str(out, "null");
}

void graph_rule_json(const struct graph *g, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *r = &g->rules[rule];
    buf_fmt(out, "{\"id\": %u, \"action\": \"%s\", \"operations\": [", rule,
            r->allow ? "allow" : "deny");
    for (uint32_t i = 0; i < r->nops; i++)
        buf_fmt(out, "%s\"%s\"", i ? ", " : "", vocab_ops[r->ops[i]].name);
    buf_fmt(out, "], \"filtered\": %s, \"implicit\": %s, \"default\": %s, ",
            r->filtered ? "true" : "false", r->implicit ? "true" : "false",
            r->is_default ? "true" : "false");
    if (r->policy)
        buf_fmt(out, "\"policy\": %u, ", r->policy);
    if (r->origin.file && r->origin.line) {
        buf_str(out, "\"file\": ");
        text(out, r->origin.file);
        buf_fmt(out, ", \"line\": %u, \"column\": %u, ", r->origin.line, r->origin.col);
    }
    if (r->origin.via_line)
        buf_fmt(out, "\"via_line\": %u, ", r->origin.via_line);
    buf_str(out, "\"text\": ");
    text(out, r->origin.text);
    buf_chr(out, '}');
}

void graph_test_json(const struct graph_test *t, struct buf *out)
{
    static const char *const hows[] = {
        [GRAPH_LITERAL] = "literal", [GRAPH_PREFIX] = "prefix", [GRAPH_SUBPATH] = "subpath",
        [GRAPH_REGEX] = "regex",     [GRAPH_INT] = "integer",   [GRAPH_MODE] = "mode",
        [GRAPH_NET] = "network",     [GRAPH_DOMAIN] = "domain", [GRAPH_FLAG] = "flag",
    };
    OWN(buf) struct buf sbpl = {0};
    graph_test_print(t, &sbpl);
    buf_fmt(out, "{\"filter\": \"%s\", \"how\": \"%s\", \"sbpl\": ", vocab_filters[t->filter].name,
            hows[t->how]);
    buf_json(out, sbpl.s ? sbpl.s : "", sbpl.n);
    if (t->str) {
        buf_str(out, ", \"value\": ");
        buf_json(out, t->str, t->len);
    } else if (t->how == GRAPH_INT || t->how == GRAPH_MODE) {
        buf_fmt(out, ", \"value\": %lld", (long long)t->num);
    }
    buf_chr(out, '}');
}

static void mods_json(const struct graph *g, const struct graph_node *n, struct buf *out)
{
    buf_str(out, "[");
    for (uint32_t i = 0; i < n->nmods; i++) {
        const struct graph_mod *m = &g->mods[n->mods + i];
        buf_fmt(out, "%s{\"name\": \"%s\", \"value\": ", i ? ", " : "",
                vocab_modifiers[m->id].name);
        if (m->str)
            text(out, m->str);
        else
            buf_fmt(out, "%lld", (long long)m->num);
        buf_chr(out, '}');
    }
    buf_chr(out, ']');
}

static void node_json(const struct graph *g, uint32_t node, struct buf *out)
{
    const struct graph_node *n = &g->nodes[node];
    buf_fmt(out, "{\"id\": %u, ", node);
    if (n->kind == GRAPH_NODE_FILTER) {
        buf_fmt(out, "\"test\": %u, \"match\": %u, \"unmatch\": %u", n->test, n->match, n->unmatch);
    } else {
        buf_fmt(out,
                "\"decision\": \"%s\", \"flags\": %u, \"modifiers\": ", n->allow ? "allow" : "deny",
                n->flags);
        mods_json(g, n, out);
    }
    if (n->rule != GRAPH_NO_RULE)
        buf_fmt(out, ", \"rule\": %u", n->rule);
    buf_chr(out, '}');
}

static void nodes_json(const struct graph *g, const uint8_t *wanted, struct buf *out)
{
    const char *comma = "";
    buf_str(out, "  \"nodes\": [");
    for (uint32_t i = 0; i < g->nnodes; i++) {
        if (!wanted[i])
            continue;
        buf_fmt(out, "%s\n    ", comma);
        node_json(g, i, out);
        comma = ",";
    }
    buf_str(out, "\n  ],\n  \"tests\": [");
    for (uint32_t i = 0; i < g->ntests; i++) {
        buf_fmt(out, "%s\n    ", i ? "," : "");
        graph_test_json(&g->tests[i], out);
    }
    buf_str(out, "\n  ],\n  \"rules\": [");
    for (uint32_t i = 0; i < g->nrules; i++) {
        buf_fmt(out, "%s\n    ", i ? "," : "");
        graph_rule_json(g, i, out);
    }
    buf_str(out, "\n  ]");
}

static void entries_json(const struct graph *g, uint32_t policy, enum vocab_op only,
                         struct buf *out)
{
    const char *comma = "";
    buf_chr(out, '{');
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        bool here = only == OP_NONE ? vocab_ops[op].message_filter == (policy > 0) : op == only;
        if (!here)
            continue;
        buf_fmt(out, "%s\"%s\": %u", comma, vocab_ops[op].name,
                graph_policy_entry(g, policy, (enum vocab_op)op));
        comma = ", ";
    }
    buf_chr(out, '}');
}

static void notes_json(const struct graph *g, struct buf *out)
{
    buf_str(out, "  \"notes\": {");
    for (const struct note *n = g->notes; n; n = n->next) {
        text(out, n->key);
        buf_str(out, ": ");
        text(out, n->value);
        buf_str(out, n->next ? ", " : "");
    }
    buf_str(out, "},\n");
}

void graph_print_json(const struct graph *g, enum vocab_op op, struct buf *out)
{
    OWN(mem) uint8_t *wanted = graph_reachable(g, op);
    if (!wanted) {
        out->failed = true;
        return;
    }
    if (g->nrules && g->rules[0].compiled) /* which does not record it */
        buf_str(out, "{\n  \"version\": null,\n");
    else
        buf_fmt(out, "{\n  \"version\": %d,\n", g->opt.version);
    buf_fmt(out, "  \"fold_case\": %s,\n", g->opt.fold_case ? "true" : "false");
    notes_json(g, out);
    buf_str(out, "  \"entries\": ");
    entries_json(g, 0, op, out);
    buf_str(out, ",\n  \"policies\": [");
    for (uint32_t p = 1; op == OP_NONE && p <= g->npolicies; p++) {
        buf_str(out, p > 1 ? ", " : "");
        entries_json(g, p, op, out);
    }
    buf_str(out, "],\n");
    nodes_json(g, wanted, out);
    buf_str(out, "\n}\n");
}
