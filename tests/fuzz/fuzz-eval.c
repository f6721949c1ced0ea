/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a profile's text; its last line is also the argument of a few queries. The text is
 * compiled with small budgets and without access to files: `shipped_only` limits (import …) to the
 * shipped profiles. It ends in errors with positions and words, or in a graph that answers,
 * explains and prints itself; evaluating in one walk and step by step must agree.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "graph/eval.h"
#include "sbpl/sbpl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sbpl_param params[] = {{"HOME", "/home/me"}, {"YES", "TRUE"}, {"N", "42"}};

static const struct sbpl_options options = {
    .params = params,
    .nparams = sizeof(params) / sizeof(params[0]),
    .os = VOCAB_OS_ANY,
    .shipped_only = true,
    .max_steps = 200000,
    .max_depth = 2000,
    .max_bytes = 8 << 20,
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_findings(const struct sbpl_unit *u)
{
    struct buf out = {0};
    for (const struct diag *g = u->diags.first; g; g = g->next) {
        require(g->code && g->msg && g->width >= 1);
        diag_text(&u->diags, g, &out);
        diag_json(&u->diags, g, &out);
    }
    for (size_t i = 0; i < out.n; i++)
        require(out.s[i] == '\n' || (unsigned char)out.s[i] >= ' ');
    buf_free(&out);
}

static void step(void *arg, uint32_t node, bool matched)
{
    (void)node;
    (void)matched;
    ++*(size_t *)arg;
}

static void ask(const struct graph *g, struct graph_cache *cache, enum vocab_op op,
                const char *argument)
{
    struct graph_fact facts[2];
    struct graph_query q = {.op = (uint16_t)op, .facts = facts};
    struct bk_err err;
    size_t steps = 0;
    if (graph_facts_parse(op, &argument, 1, facts, &q.nfacts, &err) < 0)
        q.nfacts = 0;
    struct graph_verdict a = graph_eval(g, cache, &q);
    struct graph_verdict b = graph_trace(g, cache, &q, step, &steps);
    require(a.allow == b.allow && a.rule == b.rule && a.flags == b.flags);
    require(steps <= graph_node_count(g));
    require(graph_node_at(g, a.node)->kind == GRAPH_NODE_DECISION);
    require(a.rule == GRAPH_NO_RULE || a.rule < graph_rule_count(g));
    struct buf out = {0};
    graph_explain_text(g, cache, &q, &out);
    graph_explain_json(g, cache, &q, &out);
    require(out.n > 0 && buf_ok(&out));
    buf_free(&out);
}

static void ask_all(const struct graph *g, const char *argument)
{
    static const uint16_t ops[] = {
        OP_FILE_READ_DATA, OP_FILE_WRITE_CREATE, OP_MACH_LOOKUP, OP_NETWORK_OUTBOUND,
        OP_SIGNAL,         OP_PROCESS_EXEC,      OP_SYSCTL_READ};
    struct graph_cache *cache = graph_cache_new(g);
    require(cache != NULL);
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        ask(g, cache, (enum vocab_op)ops[i], argument);
    graph_cache_free(cache);
}

static void print_all(const struct graph *g)
{
    struct buf out = {0};
    graph_print_text(g, OP_NONE, &out);
    graph_print_dot(g, OP_FILE_READ_DATA, &out);
    graph_print_json(g, OP_NETWORK_OUTBOUND, &out);
    require(buf_ok(&out));
    buf_free(&out);
}

/* Returns a copy of the last line. */
static char *last_line(const uint8_t *data, size_t size)
{
    size_t start = size;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    size_t n = size - start < 300 ? size - start : 300;
    char *line = calloc(1, n + 1);
    require(line != NULL);
    memcpy(line, data + start, n);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbpl_unit u;
    struct bk_err err = {0};
    struct graph *graph = NULL;
    sbpl_unit_init(&u, &options);
    if (sbpl_add_text(&u, "input", (const char *)data, size, &err) == 0) {
        if (sbpl_compile(&u, &graph, &err) == 0) {
            char *line = last_line(data, size);
            require(graph != NULL && u.diags.errors == 0);
            ask_all(graph, line);
            if (graph_node_count(graph) < 5000)
                print_all(graph);
            free(line);
        } else {
            require(graph == NULL && err.code != BK_OK && err.code != BK_E_BUG && err.msg[0]);
        }
        check_findings(&u);
    }
    graph_free(graph);
    sbpl_unit_free(&u);
    return 0;
}
