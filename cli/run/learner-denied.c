/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * --learn-denied: rules for exactly what a normal run was denied. They name the operations that
 * were denied, so that they win wherever they are added. Secret stores and protected names are only
 * mentioned: opening those is for the user to write. The run's policy with these rules is compiled
 * and asked about every denial before they are written.
 */

#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/learner.h"

enum { MENTIONED = 50 };

struct denials {
    struct trace *t;
    const struct graph *graph;
    struct graph_cache *cache;
    struct buf notes;
    size_t kept;      /* denials that stay */
    size_t remaining; /* that the new policy denies still */
    bool mark;        /* first pass: mark what stays */
};

static bool is_shipped_denial(const struct graph_rule_info *r)
{
    static const char *const files[] = {"secrets.sb", "protected.sb", "disks.sb", "own.sb"};
    const char *file = r->origin.file ? r->origin.file : "", *slash = strrchr(file, '/');
    if (r->origin.source == SOURCE_OWN || r->origin.source == SOURCE_MACHINE)
        return true;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(slash ? slash + 1 : file, files[i]) == 0)
            return true;
    return false;
}

/* A path with a known name of a secret or a protected file stays denied, and so does what the
 * judge denied for a reason that a path does not show. */
static int sort_out(void *arg, uint32_t node, enum vocab_op op, const char *path, size_t len)
{
    struct denials *d = arg;
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)len};
    const struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = 1};
    struct trace_node *n = &d->t->nodes[node];
    uint32_t bit = 0;
    for (size_t i = 0; i < use_op_count; i++)
        bit |= use_ops[i] == op ? 1u << i : 0;
    if (!d->mark && n->covered & bit)
        return 0;
    struct graph_verdict v = graph_eval(d->graph, d->cache, &q);
    if (!d->mark) {
        bool net = op == OP_NETWORK_OUTBOUND || op == OP_NETWORK_BIND || op == OP_NETWORK_INBOUND;
        d->remaining += !net && !v.allow;
        return 0;
    }
    if (!v.allow && v.rule != GRAPH_NO_RULE && !is_shipped_denial(graph_rule_at(d->graph, v.rule)))
        return 0;
    n->covered |= bit;
    if (d->kept++ < MENTIONED) {
        buf_fmt(&d->notes, "; not opened: %s ", vocab_ops[op].name);
        buf_safe(&d->notes, path, len);
        buf_chr(&d->notes, '\n');
    }
    return 0;
}

/* Whether the run's policy with the addition allows everything that has a rule. */
static int check_addition(struct invocation *r, struct denials *d, const struct buf *text,
                          struct bk_err *err)
{
    struct run_source sources[POLICY_SOURCES + 1];
    size_t n = run_sources(&r->run, sources, POLICY_SOURCES);
    struct run_policy p = {0};
    struct run_spec spec = r->spec;
    if (n == 0)
        return err_set(err, BK_E_INPUT, "the policy has too many sources");
    sources[n++] = (struct run_source){.kind = RUN_TEXT,
                                       .from = SOURCE_PROFILE,
                                       .name = "<learned>",
                                       .text = text->s,
                                       .n = text->n};
    spec.sources = sources;
    spec.nsources = n;
    struct bk_err why;
    int made = run_policy_gather_again(&p, &r->run.policy, &spec, &r->run.own_rules, &why) < 0 ||
                       run_policy_compile(&p, &why) < 0
                   ? err_set(err, BK_E_BUG, "the learned rules do not compile: %s", why.msg)
                   : 0;
    struct graph_cache *cache = made == 0 ? graph_cache_new(p.graph) : NULL;
    if (cache) {
        d->graph = p.graph;
        d->cache = cache;
        d->mark = false;
        trace_each(d->t, sort_out, d);
    }
    graph_cache_free(cache);
    run_policy_free(&p);
    return made < 0 ? -1 : cache ? 0 : err_nomem(err);
}

static void put_summary(const struct learner *l, const struct learned *rules,
                        const struct denials *d, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < rules->n; i++)
        n += !rules->rules[i].dropped;
    buf_fmt(out, "buckle: %zu rule%s for what was denied, in ", n, plural(n));
    buf_safe(out, l->to, strlen(l->to));
    buf_chr(out, '\n');
    if (d->kept)
        buf_fmt(out, "  %zu denial%s of secrets and protected names left as %s\n", d->kept,
                plural(d->kept), d->kept == 1 ? "it is" : "they are");
    if (d->remaining)
        buf_fmt(out, "  %zu would still be denied: another rule of the policy wins\n",
                d->remaining);
}

int learner_end_denied(struct learner *l, struct invocation *r, struct buf *summary,
                       struct bk_err *err)
{
    OWN(learned) struct learned rules = {0};
    OWN(buf) struct buf text = {0};
    struct proof proof;
    struct anchors anchors = learner_anchors(r);
    struct denials d = {.t = &l->denied, .graph = run_graph(&r->run), .mark = true};
    if (!l->denied.events)
        return 0;
    struct graph_cache *cache = d.graph ? graph_cache_new(d.graph) : NULL;
    if (!cache)
        return err_nomem(err);
    d.cache = cache;
    trace_each(d.t, sort_out, &d);
    struct prove_request q = {
        .learn = {d.t, &anchors, LEARN_EXACT, NULL, NULL},
        .words = {.command = r->settings.command, .addition = true, .notes = d.notes.s},
        .options = &r->run.policy.unit.opt,
        .base = d.graph};
    int done = learn_generalise(&q.learn, &rules, err);
    if (done == 0)
        done = learn_prove(&q, &rules, &proof, err);
    if (done == 0) {
        learned_text(&rules, d.t, &q.words, &text);
        done = buf_ok(&text) ? check_addition(r, &d, &text, err) : err_nomem(err);
    }
    if (done == 0) {
        put_summary(l, &rules, &d, summary);
        done = learner_write(l->to, &text, err);
    }
    graph_cache_free(cache);
    buf_free(&d.notes);
    return done;
}
