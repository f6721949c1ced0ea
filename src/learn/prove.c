/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The proof of a learned profile, by the same compiler and evaluator that a run uses:
 *
 *   it is enough        every recorded use is allowed by its rules
 *   each rule counts    without it, one of the uses that it decides is denied; else it is dropped
 *   it is not wider     what it and the base allow together is what it allows (graph_diff()); a
 * rule for which that is not so becomes the literals of its uses
 *
 * The first two look at the rules without the base's denials: those depend on what the judge knows
 * about a file, such as whether a change to git's settings is harmless, and a trace does not say.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/own.h"
#include "graph/build.h"
#include "graph/peer.h"
#include "learn/learned.h"

enum { ROUNDS = 12, FACTS = 6, MAX_CLOSED = 24 };

struct recorded {
    uint32_t node; /* or the host's number */
    uint32_t rule; /* that decides it, or UINT32_MAX */
    uint8_t bit;
    bool host;
};

struct prover {
    const struct prove_request *q;
    struct learned *l;
    struct proof *out;
    struct recorded *uses;
    size_t n;
    struct bk_err *err;
};

/* ---- compiling ---- */

int learn_compile(const struct prove_request *q, const struct buf *text, struct graph **out,
                  struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct sbpl_options opt = *q->options;
    opt.terse = false;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "<learned>", text->s, text->n, err) < 0 ||
        (q->own && q->own->n && sbpl_add_apart(&unit, "<own>", q->own->s, q->own->n, err) < 0))
        return -1;
    return sbpl_compile(&unit, out, err);
}

static int compile(const struct prover *p, bool denials, struct graph **out)
{
    OWN(buf) struct buf text = {0};
    struct prove_request q = *p->q;
    q.words.no_denials = !denials;
    q.words.notes = NULL;
    if (!denials) {
        q.own = NULL;
        q.words.include = NULL;
    }
    learned_text(p->l, q.learn.trace, &q.words, &text);
    if (!buf_ok(&text))
        return err_nomem(p->err);
    return learn_compile(&q, &text, out, p->err);
}

/* ---- asking ---- */

static struct graph_verdict ask_path(const struct graph *g, struct graph_cache *c, enum vocab_op op,
                                     const char *path, size_t len)
{
    struct graph_fact facts[FACTS];
    size_t n = 0;
    bool net = op == OP_NETWORK_OUTBOUND || op == OP_NETWORK_BIND || op == OP_NETWORK_INBOUND;
    if (net)
        facts[n++] =
            (struct graph_fact){.filter = op == OP_NETWORK_OUTBOUND ? FILTER_REMOTE : FILTER_LOCAL,
                                .str = path,
                                .len = (uint32_t)len,
                                .net = {.proto = NET_UNIX}};
    else
        facts[n++] = (struct graph_fact){.filter = FILTER_PATH, .str = path, .len = (uint32_t)len};
    facts[n++] = graph_extension_fact("buckle.created-socket");
    facts[n++] = graph_extension_fact("buckle.private-layer");
    const struct graph_query q = {.op = (uint16_t)op, .facts = facts, .nfacts = n};
    return graph_eval(g, c, &q);
}

static struct graph_verdict ask_host(const struct graph *g, struct graph_cache *c,
                                     const struct trace_host *h)
{
    struct graph_fact facts[FACTS];
    struct peer peer;
    struct bk_err err;
    size_t n = 0;
    char text[PEER_TEXT], word[PEER_TEXT + 8];
    const char *args[] = {word};
    const struct graph_verdict no = {.rule = GRAPH_NO_RULE};
    if (!peer_parse(h->name, strlen(h->name), &peer))
        return no;
    peer_text(&peer, h->port, text);
    snprintf(word, sizeof(word), "tcp:%s", text);
    if (graph_facts_parse(OP_NETWORK_OUTBOUND, args, 1, facts, &n, &err) < 0)
        return no;
    const struct graph_query q = {.op = OP_NETWORK_OUTBOUND, .facts = facts, .nfacts = n};
    return graph_eval(g, c, &q);
}

static struct graph_verdict ask(const struct prover *p, const struct graph *g,
                                struct graph_cache *c, const struct recorded *u, struct buf *path)
{
    const struct trace *t = p->q->learn.trace;
    if (u->host)
        return ask_host(g, c, &t->hosts[u->node]);
    path->n = 0;
    trace_path(t, u->node, path);
    if (!buf_ok(path))
        return (struct graph_verdict){.rule = GRAPH_NO_RULE};
    return ask_path(g, c, (enum vocab_op)use_ops[u->bit], path->s, path->n);
}

static void word_use(const struct prover *p, const struct recorded *u, struct buf *out)
{
    OWN(buf) struct buf path = {0};
    const struct trace *t = p->q->learn.trace;
    if (u->host) {
        buf_str(out, "network-outbound ");
        buf_safe(out, t->hosts[u->node].name, strlen(t->hosts[u->node].name));
        buf_fmt(out, ":%u", t->hosts[u->node].port);
        return;
    }
    trace_path(t, u->node, &path);
    buf_fmt(out, "%s ", vocab_ops[use_ops[u->bit]].name);
    buf_safe(out, path.s ? path.s : "", path.n);
}

/* The learned rule behind a decision, or UINT32_MAX. */
static uint32_t deciding_rule(const struct prover *p, const struct graph *g,
                              const struct graph_verdict *v)
{
    if (v->rule == GRAPH_NO_RULE)
        return UINT32_MAX;
    const struct graph_origin *o = &graph_rule_at(g, v->rule)->origin;
    if (!o->file || strcmp(o->file, "<learned>") != 0)
        return UINT32_MAX;
    for (size_t i = 0; i < p->l->n; i++)
        if (!p->l->rules[i].dropped && p->l->rules[i].line == o->line)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* ---- it is enough ---- */

/* Of an addition: what another profile allows, or may not be opened. */
static uint32_t left_out(const struct prover *p, const struct trace_node *n)
{
    return p->q->words.addition ? n->covered : 0;
}

static int gather(struct prover *p)
{
    const struct trace *t = p->q->learn.trace;
    size_t n = t->nhosts;
    for (uint32_t i = 0; i < t->nnodes; i++)
        n += (size_t)__builtin_popcount(t->nodes[i].own.ops);
    p->uses = calloc(n ? n : 1, sizeof(*p->uses));
    if (!p->uses)
        return err_nomem(p->err);
    for (uint32_t i = 0; i < t->nnodes; i++)
        for (uint8_t bit = 0; bit < use_op_count; bit++)
            if ((t->nodes[i].own.ops & ~left_out(p, &t->nodes[i])) >> bit & 1)
                p->uses[p->n++] = (struct recorded){.node = i, .bit = bit, .rule = UINT32_MAX};
    for (uint32_t i = 0; i < t->nhosts; i++)
        p->uses[p->n++] = (struct recorded){.node = i, .host = true, .rule = UINT32_MAX};
    return 0;
}

static int replay(struct prover *p)
{
    OWN(buf) struct buf path = {0};
    struct graph *g = NULL;
    if (compile(p, false, &g) < 0)
        return -1;
    struct graph_cache *c = graph_cache_new(g);
    p->out->replayed = p->out->failed = 0;
    for (size_t i = 0; c && i < p->n; i++) {
        struct graph_verdict v = ask(p, g, c, &p->uses[i], &path);
        p->out->replayed++;
        p->uses[i].rule = deciding_rule(p, g, &v);
        if (v.allow || p->out->failed++)
            continue;
        OWN(buf) struct buf words = {0};
        word_use(p, &p->uses[i], &words);
        snprintf(p->out->failure, sizeof(p->out->failure), "%s", words.s ? words.s : "");
    }
    graph_cache_free(c);
    graph_free(g);
    return c ? 0 : err_nomem(p->err);
}

/* ---- each rule counts ---- */

/* Finds a use that fails without the rule. */
static int check_needed(struct prover *p, uint32_t rule)
{
    OWN(buf) struct buf path = {0};
    OWN(buf) struct buf words = {0};
    struct learned_rule *r = &p->l->rules[rule];
    struct graph *g = NULL;
    bool many = false;
    r->dropped = true;
    if (compile(p, false, &g) < 0)
        return -1;
    struct graph_cache *c = graph_cache_new(g);
    r->needed = NULL;
    for (size_t i = 0; c && i < p->n && !r->needed; i++) {
        if (p->uses[i].rule != rule || ask(p, g, c, &p->uses[i], &path).allow)
            continue;
        word_use(p, &p->uses[i], &words);
        r->needed = words.s ? arena_strndup(&p->l->arena, words.s, words.n) : NULL;
        if (!r->needed)
            many = true;
    }
    graph_cache_free(c);
    graph_free(g);
    if (!c || many)
        return err_nomem(p->err);
    r->dropped = !r->needed;
    p->out->dropped += r->dropped;
    return 0;
}

/* Names that are only counted cannot be replayed; the rule for their folder stays. */
static bool covers_many(const struct prover *p, const struct learned_rule *r)
{
    const struct trace *t = p->q->learn.trace;
    return r->witness != UINT32_MAX && t->left &&
           (r->kind == LEARNED_REGEX ||
            (r->node != UINT32_MAX && (t->nodes[r->node].many.ops & r->ops)));
}

static int drop_unneeded(struct prover *p)
{
    for (uint32_t i = 0; i < p->l->n; i++)
        if (!p->l->rules[i].dropped && !covers_many(p, &p->l->rules[i]) && check_needed(p, i) < 0)
            return -1;
    return 0;
}

/* ---- it is not wider than the base ---- */

struct wider {
    struct prover *p;
    const struct graph *learned;
    struct graph_cache *cache;
    uint8_t *narrow; /* by rule */
    size_t narrowed, closed_now, left, undecided;
};

/* The start of all learned profiles allows this path, and the base does not. */
static bool close_path(struct wider *w, const struct graph_difference *d)
{
    struct learned *l = w->p->l;
    for (size_t i = 0; i < d->nfacts; i++) {
        const struct graph_fact *f = &d->facts[i];
        if (f->filter != FILTER_PATH || l->nclosed >= MAX_CLOSED)
            continue;
        buf_fmt(&l->closed, "(deny %s (literal ", vocab_ops[d->op].name);
        buf_sbpl(&l->closed, f->str, f->len);
        buf_str(&l->closed, "))\n");
        l->nclosed++;
        w->closed_now++;
        return true;
    }
    return false;
}

static void on_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    struct wider *w = arg;
    struct proof *out = w->p->out;
    if (how == GRAPH_UNDECIDED) {
        w->undecided++;
        return;
    }
    const struct graph_query q = {.op = d->op, .facts = d->facts, .nfacts = d->nfacts};
    struct graph_verdict v = graph_eval(w->learned, w->cache, &q);
    uint32_t rule = deciding_rule(w->p, w->learned, &v);
    struct learned_rule *r = rule == UINT32_MAX ? NULL : &w->p->l->rules[rule];
    if (r && !r->narrow && r->kind != LEARNED_LITERAL && r->kind < LEARNED_DOMAIN) {
        w->narrowed += !w->narrow[rule];
        w->narrow[rule] = 1;
        return;
    }
    if (!r && close_path(w, d))
        return;
    OWN(buf) struct buf words = {0};
    buf_fmt(&words, "%s", vocab_ops[d->op].name);
    for (size_t i = 0; i < d->nfacts && i < 3; i++) {
        buf_chr(&words, ' ');
        graph_fact_print(&d->facts[i], &words);
    }
    size_t used = strlen(out->witness);
    snprintf(out->witness + used, sizeof(out->witness) - used, "%s%s", w->left++ ? "; " : "",
             words.s ? words.s : "");
}

static int narrow(struct wider *w)
{
    struct prover *p = w->p;
    size_t n = p->l->n;
    for (size_t i = 0; i < n; i++)
        if (w->narrow[i])
            p->l->rules[i].dropped = true;
    for (size_t i = 0; i < p->n; i++) {
        const struct recorded *u = &p->uses[i];
        if (u->rule >= n || !w->narrow[u->rule] || u->host)
            continue;
        if (learned_add_path(p->l, &p->q->learn, u->node, 1u << u->bit, u->rule, p->err) < 0)
            return -1;
    }
    return 0;
}

/* Operations that need a closer look. */
static int find_open(const struct graph *g, const struct graph *base, bool *ops, size_t *n,
                     struct bk_err *err)
{
    bool within[OP_COUNT];
    if (graph_within(g, base, within, err) < 0)
        return -1;
    *n = 0;
    for (size_t i = 0; i < OP_COUNT; i++)
        *n += ops[i] = !within[i];
    return 0;
}

/* Returns 1 if rules have changed. */
static int compare(struct prover *p)
{
    bool ops[OP_COUNT];
    size_t nops = 0;
    struct graph *g = NULL, *both = NULL;
    enum graph_equality how;
    struct wider w = {.p = p};
    int r = -1;
    p->out->witness[0] = '\0';
    const struct graph_diff_how how_far = {.ops = ops, .verdicts = true};
    if (compile(p, true, &g) < 0)
        return -1;
    w.learned = g;
    w.cache = graph_cache_new(g);
    w.narrow = calloc(p->l->n + 1, 1);
    if (!w.cache || !w.narrow)
        err_nomem(p->err);
    else if (find_open(g, p->q->base, ops, &nops, p->err) == 0) {
        both = nops ? graph_conjoin(g, p->q->base, p->err) : NULL;
        if (!nops || (both && graph_diff(g, both, &how_far, on_difference, &w, &how, p->err) == 0))
            r = w.narrowed ? narrow(&w) : 0;
    }
    p->out->wider = w.left;
    p->out->undecided = w.undecided;
    p->out->narrowed += w.narrowed;
    if (r == 0 && !buf_ok(&p->l->closed))
        r = err_nomem(p->err);
    /* what is left would be left again */
    if (r == 0 && !w.left && (w.narrowed || w.closed_now))
        r = 1;
    graph_cache_free(w.cache);
    free(w.narrow);
    graph_free(both);
    graph_free(g);
    return r;
}

/* ---- all of it ---- */

/* What the base allows in a private layer only. */
static void find_layers(struct prover *p)
{
    OWN(buf) struct buf path = {0};
    struct graph_cache *c = graph_cache_new(p->q->base);
    for (size_t i = 0; c && i < p->l->n; i++) {
        struct learned_rule *r = &p->l->rules[i];
        if (r->witness == UINT32_MAX || !(r->ops & use_class_bits(USE_WRITE)))
            continue;
        path.n = 0;
        trace_path(p->q->learn.trace, r->witness, &path);
        struct graph_fact facts[2] = {
            {.filter = FILTER_PATH, .str = path.s, .len = (uint32_t)path.n},
            graph_extension_fact("buckle.private-layer")};
        struct graph_query q = {.op = OP_FILE_WRITE_CREATE, .facts = facts, .nfacts = 1};
        bool plain = buf_ok(&path) && graph_eval(p->q->base, c, &q).allow;
        q.nfacts = 2;
        r->layer = !plain && graph_eval(p->q->base, c, &q).allow;
        q.op = OP_FILE_READ_DATA;
        r->reads &= graph_eval(p->q->base, c, &q).allow;
    }
    graph_cache_free(c);
}

static int cover_paths(const struct graph *g, struct graph_cache *c, struct trace *t,
                       struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    for (uint32_t i = 0; i < t->nnodes; i++) {
        path.n = 0;
        trace_path(t, i, &path);
        if (!buf_ok(&path))
            return err_nomem(err);
        for (uint8_t bit = 0; bit < use_op_count && path.s; bit++)
            if (t->nodes[i].own.ops >> bit & 1 &&
                ask_path(g, c, (enum vocab_op)use_ops[bit], path.s, path.n).allow)
                t->nodes[i].covered |= 1u << bit;
    }
    return 0;
}

int learn_cover_by(const struct graph *g, struct trace *t, size_t *left, struct bk_err *err)
{
    struct graph_cache *c = graph_cache_new(g);
    uint32_t hosts = 0;
    int done = c ? cover_paths(g, c, t, err) : err_nomem(err);
    for (uint32_t i = 0; c && i < t->nhosts; i++)
        if (!ask_host(g, c, &t->hosts[i]).allow)
            t->hosts[hosts++] = t->hosts[i];
    t->nhosts = c ? hosts : t->nhosts;
    *left = hosts;
    for (uint32_t i = 0; i < t->nnodes; i++)
        *left += (size_t)__builtin_popcount(t->nodes[i].own.ops & ~t->nodes[i].covered);
    graph_cache_free(c);
    return done;
}

int learn_cover(const struct prove_request *q, struct trace *t, struct bk_err *err)
{
    struct learned none = {0};
    struct proof unused = {0};
    struct prover p = {.q = q, .l = &none, .out = &unused, .err = err};
    struct graph *g = NULL;
    if (compile(&p, false, &g) < 0)
        return -1;
    struct graph_cache *c = graph_cache_new(g);
    int done = c ? cover_paths(g, c, t, err) : err_nomem(err);
    graph_cache_free(c);
    graph_free(g);
    return done;
}

int learn_prove(const struct prove_request *q, struct learned *l, struct proof *out,
                struct bk_err *err)
{
    struct prover p = {.q = q, .l = l, .out = out, .err = err};
    *out = (struct proof){0};
    if (!q->words.addition)
        find_layers(&p);
    int r = gather(&p);
    for (int round = 0; r == 0 && round < ROUNDS && !q->words.addition; round++) {
        r = replay(&p);
        int changed = r == 0 ? compare(&p) : -1;
        r = changed < 0 ? -1 : 0;
        if (changed <= 0)
            break;
    }
    if (r == 0)
        r = replay(&p);
    if (r == 0)
        r = drop_unneeded(&p);
    if (r == 0)
        r = replay(&p);
    free(p.uses);
    return r;
}
