/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What happened on the way to a decision. The trace has tests; consecutive tests of one rule are a
 * trial of that rule. Nodes do not record whose list they are in, but the order shows it: within
 * one operation's list, rules are in reverse source order. So a rule that is not earlier in the
 * source than the previous one, or that does not name the current operation, starts the parent's
 * list.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/explain-int.h"
#include "graph/eval.h"

static void *one_more(struct story *s, void *array, uint32_t n, uint32_t *cap, size_t size)
{
    if (s->failed)
        return NULL;
    void **p = array;
    if (n == *cap) {
        uint32_t want = *cap ? *cap * 2 : 64;
        void *q = realloc(*p, want * size);
        if (!q) {
            s->failed = true;
            return NULL;
        }
        *p = q;
        *cap = want;
    }
    return (char *)*p + n * size;
}

static void note_step(void *arg, uint32_t node, bool matched)
{
    struct story *s = arg;
    struct step *step = one_more(s, &s->steps, s->nsteps, &s->cap_steps, sizeof(*step));
    if (!step)
        return;
    *step = (struct step){node, matched};
    s->nsteps++;
}

static bool names(const struct graph_rule_info *r, uint16_t op)
{
    for (uint32_t i = 0; i < r->nops; i++)
        if (r->ops[i] == op)
            return true;
    return false;
}

/* The operation, at or above `op`, whose list contains the next rule. */
static uint16_t list_of(const struct graph *g, uint16_t op, const struct trial *before,
                        uint32_t rule)
{
    if (before && before->op == op && rule >= before->rule && vocab_ops[op].parent != OP_NONE)
        op = vocab_ops[op].parent;
    while (!names(&g->rules[rule], op) && vocab_ops[op].parent != OP_NONE)
        op = vocab_ops[op].parent;
    return op;
}

static bool names_above(const struct graph_rule_info *r, uint16_t op)
{
    while (vocab_ops[op].parent != OP_NONE) {
        op = vocab_ops[op].parent;
        if (names(r, op))
            return true;
    }
    return false;
}

/* Where the trial that starts with step `from` ends. A rule may be last in a list and first in the
 * parent's: its first test then occurs again. */
static uint32_t trial_end(const struct story *s, uint32_t from, uint16_t op)
{
    const struct graph_node *first = &s->g->nodes[s->steps[from].node];
    bool again = names_above(&s->g->rules[first->rule], op);
    uint32_t end = from + 1;
    for (; end < s->nsteps; end++) {
        const struct graph_node *n = &s->g->nodes[s->steps[end].node];
        if (n->rule != first->rule || (again && n->test == first->test))
            break;
    }
    return end;
}

static void group_steps(struct story *s)
{
    uint16_t op = s->q->op;
    for (uint32_t i = 0; i < s->nsteps && !s->failed;) {
        uint32_t rule = s->g->nodes[s->steps[i].node].rule;
        const struct trial *before = s->ntrials ? &s->trials[s->ntrials - 1] : NULL;
        if (rule == GRAPH_NO_RULE) { /* from a compiled profile: no rules to try */
            i++;
            continue;
        }
        op = list_of(s->g, op, before, rule);
        uint32_t end = trial_end(s, i, op);
        bool near = false;
        for (uint32_t k = i; k < end; k++)
            near = near || s->steps[k].matched;
        struct trial *t = one_more(s, &s->trials, s->ntrials, &s->cap_trials, sizeof(*t));
        if (!t)
            return;
        *t = (struct trial){rule, i, end - i, op, near};
        s->ntrials++;
        i = end;
    }
}

/* Where the list ended if no filtered rule decided. */
static uint16_t find_tail(const struct story *s)
{
    const struct graph_rule_info *r = &s->g->rules[s->verdict.rule];
    uint16_t op = s->ntrials ? s->trials[s->ntrials - 1].op : s->q->op;
    int version = s->g->opt.version - 1;
    if (r->compiled)
        return s->q->op;
    while (vocab_ops[op].parent != OP_NONE) {
        if (r->is_default ? vocab_ops[op].tail[version] != TAIL_PARENT : names(r, op))
            break;
        op = vocab_ops[op].parent;
    }
    return op;
}

void story_trace(struct story *s, const struct graph *g, struct graph_cache *cache,
                 const struct graph_query *q)
{
    *s = (struct story){.g = g, .q = q};
    s->verdict = graph_trace(g, cache, q, note_step, s);
    if (s->verdict.rule == GRAPH_NO_RULE)
        return;
    group_steps(s);
    s->decided_by_trial = s->ntrials && s->trials[s->ntrials - 1].rule == s->verdict.rule;
    s->tail_op = find_tail(s);
}

void story_free(struct story *s)
{
    free(s->steps);
    free(s->trials);
}

/* A test mattered if it held, or if its other result would have left the rule. */
void story_reasons(const struct story *s, story_reason_fn *each, void *arg)
{
    for (uint32_t i = 0; i < s->nsteps && s->g->rules[s->verdict.rule].compiled; i++)
        if (s->steps[i].matched)
            each(arg, &s->g->tests[s->g->nodes[s->steps[i].node].test], true);
    if (!s->decided_by_trial)
        return;
    const struct trial *t = &s->trials[s->ntrials - 1];
    for (uint32_t i = 0; i < t->n; i++) {
        const struct step *step = &s->steps[t->first + i];
        const struct graph_node *n = &s->g->nodes[step->node];
        uint32_t other = step->matched ? n->unmatch : n->match;
        if (step->matched || s->g->nodes[other].rule != t->rule)
            each(arg, &s->g->tests[n->test], step->matched);
    }
}

const struct step *story_failure(const struct story *s, const struct trial *t)
{
    return &s->steps[t->first + t->n - 1];
}

void story_fact_value(const struct graph_fact *f, struct buf *out)
{
    const char *name;
    if (f->filter >= FILTER_COUNT)
        return;
    switch ((enum vocab_arg)vocab_filters[f->filter].arg) {
    case ARG_NONE:
    case ARG_BOOL:
        buf_str(out, f->num ? "true" : "false");
        break;
    case ARG_INT:
        name = vocab_filter_constant_name(f->filter, f->num);
        if (name)
            buf_str(out, name);
        else
            buf_fmt(out, "%lld", (long long)f->num);
        break;
    case ARG_MODE:
        buf_fmt(out, "0%llo", (unsigned long long)f->num);
        break;
    case ARG_NETWORK:
        if (f->str)
            buf_safe(out, f->str, f->len);
        else
            net_endpoint_print(&f->net, out);
        break;
    case ARG_PATH:
    case ARG_STRING:
    case ARG_NAME:
    case ARG_DOMAIN:
        buf_safe(out, f->str ? f->str : "", f->str ? f->len : 0);
        break;
    }
}

static void flatten_text(const char *text, struct buf *out)
{
    bool space = false;
    for (const char *p = text; *p; p++) {
        if (*p == '\n' || *p == '\t' || *p == ' ' || *p == '\r') {
            space = true;
            continue;
        }
        if (space)
            buf_chr(out, ' ');
        space = false;
        buf_add(out, p, 1);
    }
}

void story_rule_text(const struct graph *g, uint32_t rule, struct buf *out)
{
    const struct graph_rule_info *r = &g->rules[rule];
    if (r->origin.text && !r->compiled) {
        flatten_text(r->origin.text, out);
        return;
    }
    buf_fmt(out, "(%s", r->allow ? "allow" : "deny");
    for (uint32_t i = 0; i < r->nops; i++)
        buf_fmt(out, " %s", vocab_ops[r->ops[i]].name);
    buf_str(out, r->filtered ? " …)" : ")");
}
