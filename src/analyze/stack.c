/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Policy stacks: the same evaluator answers the same query for every layer. */

#include "analyze/stack.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "graph/eval.h"

static bool folds(const struct graph_stack *s)
{
    for (size_t i = 0; i < s->nlayers; i++)
        if (graph_options_of(s->layers[i].graph)->fold_case)
            return true;
    return false;
}

/* The query's subject: a path, a name. */
static const struct graph_fact *subject_of(const struct graph_query *q)
{
    enum vocab_filter filter =
        q->op < OP_COUNT ? vocab_op_subject((enum vocab_op)q->op) : FILTER_NONE;
    for (size_t i = 0; i < q->nfacts; i++)
        if (q->facts[i].filter == filter && q->facts[i].str)
            return &q->facts[i];
    return NULL;
}

bool graph_extension_holds(const struct graph_stack *s, const struct graph_extension *e,
                           const struct graph_query *q)
{
    if (!e->value)
        return true;
    const struct graph_fact *subject = subject_of(q);
    if (!subject)
        return false;
    size_t n = strlen(e->value);
    bool path = e->value[0] == '/';
    while (path && n > 1 && e->value[n - 1] == '/')
        n--;
    if (subject->len < n || (path && folds(s) ? strncasecmp(subject->str, e->value, n)
                                              : memcmp(subject->str, e->value, n)) != 0)
        return false;
    return subject->len == n || (path && (n == 1 || subject->str[n] == '/'));
}

/* The query of a process that holds all extensions except one. */
static struct graph_query without(const struct graph_stack *s, const struct graph_query *q,
                                  size_t left_out, struct graph_fact *facts)
{
    struct graph_query out = *q;
    if (q->nfacts)
        memcpy(facts, q->facts, q->nfacts * sizeof(*facts));
    out.facts = facts;
    for (size_t i = 0; i < s->nextensions; i++)
        if (i != left_out && graph_extension_holds(s, &s->extensions[i], q))
            facts[out.nfacts++] = graph_extension_fact(s->extensions[i].kind);
    return out;
}

struct graph_query graph_stack_query(const struct graph_stack *s, const struct graph_query *q,
                                     struct graph_fact *facts)
{
    return without(s, q, s->nextensions, facts);
}

struct graph_stack_verdict graph_stack_eval(const struct graph_stack *s,
                                            const struct graph_query *q)
{
    struct graph_stack_verdict v = {
        .verdict = {.flags = VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE}};
    for (size_t i = 0; i < s->nlayers; i++) {
        v.layer = i;
        v.verdict = graph_eval(s->layers[i].graph, s->layers[i].cache, q);
        if (!v.verdict.allow)
            break;
    }
    return v;
}

/* ---- explaining ---- */

enum effect { OUT_OF_PLACE, NO_EFFECT, OPENS, SHUTS };

static enum effect effect_of(const struct graph_stack *s, const struct graph_query *q, size_t i,
                             bool allow, struct graph_fact *facts)
{
    if (!graph_extension_holds(s, &s->extensions[i], q))
        return OUT_OF_PLACE;
    struct graph_query asked = without(s, q, i, facts);
    if (graph_stack_eval(s, &asked).verdict.allow == allow)
        return NO_EFFECT;
    return allow ? OPENS : SHUTS;
}

static const char *const effect_words[] = {
    [OUT_OF_PLACE] = "issued for something else",
    [NO_EFFECT] = "makes no difference",
    [OPENS] = "opens it",
    [SHUTS] = "shuts it",
};

static const char *const effect_names[] = {
    [OUT_OF_PLACE] = "elsewhere",
    [NO_EFFECT] = "none",
    [OPENS] = "opens",
    [SHUTS] = "shuts",
};

static void extension_text(const struct graph_extension *e, struct buf *out)
{
    buf_safe(out, e->kind, strlen(e->kind));
    if (e->value) {
        buf_chr(out, ':');
        buf_safe(out, e->value, strlen(e->value));
    }
}

static void layer_title(const struct graph_layer *l, struct buf *out)
{
    buf_fmt(out, "%s ", l->role);
    buf_safe(out, l->name, strlen(l->name));
}

void graph_stack_explain_text(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out)
{
    OWN(mem) struct graph_fact *facts = calloc(q->nfacts + s->nextensions + 1, sizeof(*facts));
    OWN(mem) struct graph_fact *others = calloc(q->nfacts + s->nextensions + 1, sizeof(*others));
    if (!facts || !others) {
        out->failed = true;
        return;
    }
    struct graph_query asked = graph_stack_query(s, q, facts);
    struct graph_stack_verdict v = graph_stack_eval(s, &asked);
    buf_str(out, v.verdict.allow ? "allow: every layer allows it\n" : "deny");
    if (!v.verdict.allow && s->nlayers) {
        buf_str(out, ": denied by the ");
        layer_title(&s->layers[v.layer], out);
        buf_chr(out, '\n');
    } else if (!v.verdict.allow) {
        buf_str(out, ": there are no layers\n");
    }
    for (size_t i = 0; i < s->nextensions; i++) {
        enum effect e = effect_of(s, q, i, v.verdict.allow, others);
        buf_str(out, "extension ");
        extension_text(&s->extensions[i], out);
        buf_fmt(out, ": %s\n", effect_words[e]);
    }
    for (size_t i = 0; i < s->nlayers; i++) {
        buf_fmt(out, "\nLayer %zu, ", i + 1);
        layer_title(&s->layers[i], out);
        buf_chr(out, '\n');
        graph_explain_text(s->layers[i].graph, s->layers[i].cache, &asked, out);
    }
}

static void extensions_json(const struct graph_stack *s, const struct graph_query *q, bool allow,
                            struct graph_fact *facts, struct buf *out)
{
    buf_str(out, "\"extensions\": [");
    for (size_t i = 0; i < s->nextensions; i++) {
        const struct graph_extension *e = &s->extensions[i];
        buf_str(out, i ? ", {\"class\": " : "{\"class\": ");
        buf_json(out, e->kind, strlen(e->kind));
        buf_str(out, ", \"value\": ");
        if (e->value)
            buf_json(out, e->value, strlen(e->value));
        else
            buf_str(out, "null");
        buf_fmt(out, ", \"effect\": \"%s\"}", effect_names[effect_of(s, q, i, allow, facts)]);
    }
    buf_chr(out, ']');
}

void graph_stack_explain_json(const struct graph_stack *s, const struct graph_query *q,
                              struct buf *out)
{
    OWN(mem) struct graph_fact *facts = calloc(q->nfacts + s->nextensions + 1, sizeof(*facts));
    OWN(mem) struct graph_fact *others = calloc(q->nfacts + s->nextensions + 1, sizeof(*others));
    if (!facts || !others) {
        out->failed = true;
        return;
    }
    struct graph_query asked = graph_stack_query(s, q, facts);
    struct graph_stack_verdict v = graph_stack_eval(s, &asked);
    buf_fmt(out, "{\"decision\": \"%s\", \"decided_by\": %zu, ", v.verdict.allow ? "allow" : "deny",
            v.layer + 1);
    extensions_json(s, q, v.verdict.allow, others, out);
    buf_str(out, ",\n\"layers\": [");
    for (size_t i = 0; i < s->nlayers; i++) {
        const struct graph_layer *l = &s->layers[i];
        buf_fmt(out, "%s\n{\"role\": \"%s\", \"name\": ", i ? "," : "", l->role);
        buf_json(out, l->name, strlen(l->name));
        buf_str(out, ", \"explanation\":\n");
        graph_explain_json(l->graph, l->cache, &asked, out);
        buf_chr(out, '}');
    }
    buf_str(out, "]}\n");
}
