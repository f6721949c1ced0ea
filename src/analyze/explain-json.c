/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Explains a decision as JSON: the same facts as the text, complete. */

#include <string.h>

#include "analyze/explain-int.h"
#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/eval.h"
#include "graph/words.h"

struct listing {
    struct buf *out;
    uint32_t n;
};

static void reason_json(void *arg, const struct graph_test *t, bool holds)
{
    struct listing *w = arg;
    OWN(buf) struct buf words = {0};
    graph_test_describe(t, holds, &words);
    buf_str(w->out, w->n++ ? ", " : "");
    buf_json(w->out, words.s ? words.s : "", words.n);
}

static void facts_json(const struct graph_query *q, struct buf *out)
{
    const char *comma = "";
    buf_str(out, "  \"facts\": [");
    for (size_t i = 0; i < q->nfacts; i++) {
        if (q->facts[i].filter >= FILTER_COUNT)
            continue;
        OWN(buf) struct buf value = {0};
        story_fact_value(&q->facts[i], &value);
        buf_fmt(out, "%s{\"filter\": \"%s\", \"value\": ", comma,
                vocab_filters[q->facts[i].filter].name);
        buf_json(out, value.s ? value.s : "", value.n);
        buf_chr(out, '}');
        comma = ", ";
    }
    buf_str(out, "],\n");
}

static void trials_json(const struct story *s, struct buf *out)
{
    uint32_t n = s->ntrials - (s->decided_by_trial ? 1 : 0);
    buf_str(out, "  \"tried\": [");
    for (uint32_t i = 0; i < n; i++) {
        const struct trial *t = &s->trials[i];
        const struct step *failure = story_failure(s, t);
        struct listing w = {.out = out};
        buf_fmt(out, "%s\n    {\"operation\": \"%s\", \"rule\": ", i ? "," : "",
                vocab_ops[t->op].name);
        graph_rule_json(s->g, t->rule, out);
        buf_str(out, ", \"because\": ");
        reason_json(&w, &s->g->tests[s->g->nodes[failure->node].test], failure->matched);
        buf_chr(out, '}');
    }
    buf_str(out, n ? "\n  ],\n" : "],\n");
}

static void path_json(const struct story *s, struct buf *out)
{
    uint16_t last = s->decided_by_trial ? s->trials[s->ntrials - 1].op : s->tail_op;
    uint16_t op = s->q->op;
    buf_fmt(out, "  \"consulted\": [\"%s\"", vocab_ops[op].name);
    while (op != last && vocab_ops[op].parent != OP_NONE) {
        op = vocab_ops[op].parent;
        buf_fmt(out, ", \"%s\"", vocab_ops[op].name);
    }
    buf_str(out, "]\n}\n");
}

static void story_json(const struct story *s, struct buf *out)
{
    struct listing w = {.out = out};
    buf_fmt(out, "{\n  \"decision\": \"%s\",\n  \"operation\": \"%s\",\n",
            s->verdict.allow ? "allow" : "deny", vocab_ops[s->q->op].name);
    facts_json(s->q, out);
    buf_fmt(out, "  \"flags\": %u,\n  \"reported\": %s,\n  \"rule\": ", s->verdict.flags,
            s->verdict.flags & VOCAB_FLAG_REPORT ? "true" : "false");
    graph_rule_json(s->g, s->verdict.rule, out);
    buf_str(out, ",\n  \"because\": [");
    story_reasons(s, reason_json, &w);
    buf_str(out, "],\n");
    trials_json(s, out);
    path_json(s, out);
}

void graph_explain_json(const struct graph *g, struct graph_cache *cache,
                        const struct graph_query *q, struct buf *out)
{
    struct story s;
    story_trace(&s, g, cache, q);
    if (s.failed)
        out->failed = true;
    else if (s.verdict.rule == GRAPH_NO_RULE)
        buf_str(out, "{\"decision\": \"deny\", \"operation\": null}\n");
    else
        story_json(&s, out);
    story_free(&s);
}
