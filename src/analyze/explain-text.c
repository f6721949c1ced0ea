/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Explains a decision as text: the verdict, the deciding rule and why it applies, then the rules
 * tried before and why they did not. Rules that almost applied (some test held) are always shown;
 * from a long run of unrelated rules, only the first few.
 */

#include <string.h>

#include "analyze/explain-int.h"
#include "analyze/print-int.h"
#include "base/own.h"
#include "graph/eval.h"
#include "graph/words.h"

enum { RUN_SHOWN = 3, RUN_MIN = 5, ALTERNATIVES_SHOWN = 3 };

static void print_safe(const struct buf *text, struct buf *out)
{
    buf_safe(out, text->s ? text->s : "", text->n);
}

static void print_question(const struct story *s, struct buf *out)
{
    const struct graph_query *q = s->q;
    enum vocab_filter subject = vocab_op_subject((enum vocab_op)q->op);
    buf_fmt(out, "%s %s", s->verdict.allow ? "allow" : "deny", vocab_ops[q->op].name);
    for (size_t i = 0; i < q->nfacts; i++) {
        if (q->facts[i].filter >= FILTER_COUNT)
            continue;
        buf_chr(out, ' ');
        if (q->facts[i].filter != subject)
            buf_fmt(out, "%s=", vocab_filters[q->facts[i].filter].name);
        story_fact_value(&q->facts[i], out);
    }
    buf_chr(out, '\n');
}

static void print_rule(const struct story *s, uint32_t rule, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    story_rule_text(s->g, rule, &text);
    print_safe(&text, out);
}

static void print_place(const struct story *s, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *r = &s->g->rules[rule];
    if (r->implicit)
        buf_str(out, "an implicit rule");
    else
        graph_place_print(r, out);
    if (r->origin.via_line)
        buf_fmt(out, " (through line %u)", r->origin.via_line);
}

struct telling {
    struct buf *out;
    uint32_t nreasons;
};

static void print_reason(void *arg, const struct graph_test *t, bool holds)
{
    struct telling *w = arg;
    OWN(buf) struct buf words = {0};
    graph_test_describe(t, holds, &words);
    buf_str(w->out, w->nreasons++ ? "\n      and " : "  because ");
    print_safe(&words, w->out);
}

static void print_built_in(const struct story *s, struct buf *out)
{
    const char *op = vocab_ops[s->tail_op].name;
    if (vocab_ops[s->tail_op].parent == OP_NONE)
        buf_fmt(out, "No rule applies, and without a rule for %s the default is deny.\n", op);
    else
        buf_fmt(out, "No rule applies, and (version %d) %s %s unless a rule says otherwise.\n",
                s->g->opt.version, s->verdict.allow ? "allows" : "denies", op);
}

/* What the decision does besides allowing, or denying with a report. */
static void print_extras(const struct story *s, struct buf *out)
{
    const struct graph_node *n = &s->g->nodes[s->verdict.node];
    OWN(buf) struct buf words = {0};
    if (!n->allow && !(n->flags & VOCAB_FLAG_REPORT))
        buf_str(out, "  and it is not reported\n");
    uint32_t usual = n->allow ? 0 : VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT;
    if ((n->flags & ~usual) == 0 && n->nmods == 0)
        return;
    graph_modifiers_print(s->g, n, &words);
    buf_str(out, "  with");
    print_safe(&words, out);
    buf_chr(out, '\n');
}

static void print_decision(const struct story *s, struct buf *out)
{
    const struct graph_rule_info *r = &s->g->rules[s->verdict.rule];
    if (r->is_default) {
        print_built_in(s, out);
        return;
    }
    buf_str(out, "Decided by ");
    print_place(s, s->verdict.rule, out);
    buf_str(out, "\n  ");
    print_rule(s, s->verdict.rule, out);
    buf_chr(out, '\n');
    struct telling w = {.out = out};
    story_reasons(s, print_reason, &w);
    if (s->decided_by_trial || w.nreasons)
        buf_chr(out, '\n');
    else if (r->compiled)
        buf_str(out, "  because no test along the way holds\n");
    else if (r->filtered)
        buf_str(out, "  because its condition always holds\n");
    else
        buf_str(out, "  because no rule with a filter applies\n");
    print_extras(s, out);
}

/* Why a tried rule does not apply: the test at which it failed, or all of a few alternatives. */
static void print_failure(const struct story *s, const struct trial *t, struct buf *out)
{
    const struct step *failure = story_failure(s, t);
    if (!t->near && t->n > ALTERNATIVES_SHOWN) {
        buf_fmt(out, t->n == 1 ? "its %u test does not hold" : "none of its %u tests holds", t->n);
        return;
    }
    if (failure->matched)
        buf_str(out, "it is excluded: ");
    for (uint32_t i = t->near ? t->n - 1 : 0; i < t->n; i++) {
        const struct step *step = &s->steps[t->first + i];
        OWN(buf) struct buf words = {0};
        graph_test_describe(&s->g->tests[s->g->nodes[step->node].test], step->matched, &words);
        print_safe(&words, out);
        if (i + 1 < t->n)
            buf_str(out, "\n      and ");
    }
}

static void print_trial(const struct story *s, const struct trial *t, struct buf *out)
{
    buf_str(out, "  ");
    print_place(s, t->rule, out);
    buf_str(out, "  ");
    print_rule(s, t->rule, out);
    buf_str(out, "\n      ");
    print_failure(s, t, out);
    buf_chr(out, '\n');
}

/* The filter that all tests of trials i … end - 1 share, or FILTER_NONE. */
static uint16_t common_filter(const struct story *s, uint32_t i, uint32_t end)
{
    uint16_t filter = FILTER_NONE;
    for (; i < end; i++)
        for (uint32_t k = 0; k < s->trials[i].n; k++) {
            uint32_t node = s->steps[s->trials[i].first + k].node;
            uint16_t f = s->g->tests[s->g->nodes[node].test].filter;
            if (filter != FILTER_NONE && filter != f)
                return FILTER_NONE;
            filter = f;
        }
    return filter;
}

static void print_run(const struct story *s, uint32_t from, uint32_t end, struct buf *out)
{
    uint32_t shown = end - from < RUN_MIN ? end : from + RUN_SHOWN;
    for (uint32_t i = from; i < shown; i++)
        print_trial(s, &s->trials[i], out);
    if (shown == end)
        return;
    uint16_t filter = common_filter(s, shown, end);
    if (filter == FILTER_NONE)
        buf_fmt(out, "  … and %u other rule%s whose conditions do not hold\n", end - shown,
                plural(end - shown));
    else
        buf_fmt(out, "  … and %u other rule%s whose %s filters do not match\n", end - shown,
                plural(end - shown), vocab_filters[filter].name);
}

static void print_list(const struct story *s, uint32_t from, uint32_t end, struct buf *out)
{
    while (from < end) {
        uint32_t run = from;
        while (run < end && !s->trials[run].near)
            run++;
        print_run(s, from, run, out);
        if (run < end)
            print_trial(s, &s->trials[run++], out);
        from = run;
    }
}

/* One heading for each operation whose list was consulted. */
static void print_trials(const struct story *s, struct buf *out)
{
    uint32_t n = s->ntrials - (s->decided_by_trial ? 1 : 0);
    if (n == 0)
        return;
    buf_str(out, "\nTried before it, last written first\n");
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i;
        while (end < n && s->trials[end].op == s->trials[i].op)
            end++;
        buf_fmt(out, " rules for %s\n", vocab_ops[s->trials[i].op].name);
        print_list(s, i, end, out);
        i = end;
    }
}

/* "file-read-data, then file-read*, then file*". */
static void print_path(const struct story *s, struct buf *out)
{
    uint16_t last = s->decided_by_trial ? s->trials[s->ntrials - 1].op : s->tail_op;
    if (last == s->q->op || s->g->rules[s->verdict.rule].compiled)
        return; /* compiled profiles have no lists */
    buf_fmt(out, "\nConsulted the rules for %s", vocab_ops[s->q->op].name);
    for (uint16_t op = s->q->op; op != last && vocab_ops[op].parent != OP_NONE;) {
        op = vocab_ops[op].parent;
        buf_fmt(out, ", then %s", vocab_ops[op].name);
    }
    buf_chr(out, '\n');
}

void graph_explain_text(const struct graph *g, struct graph_cache *cache,
                        const struct graph_query *q, struct buf *out)
{
    struct story s;
    story_trace(&s, g, cache, q);
    if (s.failed) {
        out->failed = true;
    } else if (s.verdict.rule == GRAPH_NO_RULE) {
        buf_str(out, "deny\nNo such operation.\n");
    } else {
        print_question(&s, out);
        print_decision(&s, out);
        print_trials(&s, out);
        print_path(&s, out);
    }
    story_free(&s);
}
