/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One decision. First find the tests that hold for the query's facts, comparing each fact with all
 * tests of its filter at once. Then follow the graph from the operation's entry, jumping along
 * chains from one test that holds to the next (see match.c). Neither part visits rules that do not
 * apply, so the cost hardly depends on the number of rules.
 *
 * Nothing here allocates or makes a system call. A cache belongs to one thread, and each decision
 * leaves it as it found it. The graph is read-only.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/command.h"
#include "graph/eval.h"
#include "graph/graph-int.h"

/* Above this many matching tests, visiting each node is cheaper than looking each test up. */
enum { JUMP_MAX = 32 };

struct graph_cache {
    struct hits hits;
    struct regex_cache **regex; /* by slot; NULL for slots without regexes */
    uint32_t nslots;
    uint64_t *reached; /* by node, for a request that is not known yet; NULL: no rule has one */
    uint32_t literal;  /* for the linter: the test whose literal the hits are for, + 1 */
};

void graph_cache_free(struct graph_cache *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; c->regex && i < c->nslots; i++)
        regex_cache_free(c->regex[i]);
    free(c->regex);
    free(c->reached);
    free(c->hits.bits);
    free(c->hits.list);
    free(c);
}

struct graph_cache *graph_cache_new(const struct graph *g)
{
    struct graph_cache *c = graph_index_late(g) == 0 ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    c->nslots = g->nslots;
    c->regex = calloc((size_t)g->nslots + 1, sizeof(struct regex_cache *));
    c->hits.bits = calloc((size_t)g->ntests / 64 + 1, sizeof(uint64_t));
    c->hits.list = calloc((size_t)g->ntests + 1, sizeof(uint32_t));
    bool ok = c->regex && c->hits.bits && c->hits.list;
    if (ok && graph_tests_requests(g)) {
        c->reached = calloc((size_t)g->nnodes / 64 + 1, sizeof(uint64_t));
        ok = c->reached != NULL;
    }
    for (uint32_t i = 0; ok && i < g->nslots; i++)
        if (g->slots[i].regexes) {
            c->regex[i] = regex_cache_new(g->slots[i].regexes, 0);
            ok = c->regex[i] != NULL;
        }
    if (!ok) {
        graph_cache_free(c);
        return NULL;
    }
    return c;
}

/* ---- which tests hold ---- */

/* The slot of a filter that is tested below this entry, or GRAPH_NONE. */
static uint32_t wanted_slot(const struct graph *g, const struct entry *e, uint16_t filter)
{
    if (filter >= FILTER_COUNT || !(e->need[filter / 64] >> (filter % 64) & 1))
        return GRAPH_NONE;
    return g->slot_of[filter] - 1u;
}

static void find_string(const struct graph *g, struct graph_cache *c, const struct entry *e,
                        uint16_t filter, const char *s, uint32_t n)
{
    uint32_t at = wanted_slot(g, e, filter);
    if (at == GRAPH_NONE || !s)
        return;
    const struct slot *slot = &g->slots[at];
    if (slot->trie.nodes)
        trie_match(&slot->trie, s, n, &c->hits);
    if (!(e->regex[filter / 64] >> (filter % 64) & 1))
        return;
    const uint32_t *ids;
    size_t found = regex_match(slot->regexes, c->regex[at], s, n, &ids);
    for (size_t i = 0; i < found; i++)
        hits_add(&c->hits, slot->regex_tests[ids[i]]);
}

static void find_int(const struct slot *slot, int64_t num, struct hits *hits)
{
    uint32_t lo = 0, hi = slot->nints;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (slot->ints[mid].num < num)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < slot->nints && slot->ints[lo].num == num)
        hits_add(hits, slot->ints[lo].test);
}

struct domain_search {
    const struct graph *g;
    const struct slot *slot;
    const char *host;
    uint32_t len;
    struct hits *hits;
};

static void find_key(void *arg, uint64_t key)
{
    const struct domain_search *d = arg;
    uint32_t lo = 0, hi = d->slot->ndomains;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (d->slot->domains[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < d->slot->ndomains && d->slot->domains[lo].key == key; lo++) {
        const struct graph_test *t = &d->g->tests[d->slot->domains[lo].test];
        if (net_domain_match(t->str, t->len, d->host, d->len))
            hits_add(d->hits, d->slot->domains[lo].test);
    }
}

static void find_domain(const struct graph *g, const struct entry *e, const char *host,
                        uint32_t len, struct hits *hits)
{
    uint32_t at = wanted_slot(g, e, FILTER_DOMAIN);
    if (at == GRAPH_NONE || !host)
        return;
    struct domain_search d = {g, &g->slots[at], host, len, hits};
    net_domain_keys(host, len, find_key, &d);
}

/* Tests that are neither strings nor numbers. */
static bool other_holds(const struct graph_test *t, const struct graph_fact *f)
{
    switch (t->how) {
    case GRAPH_MODE:
        return (f->num & t->num) != 0;
    case GRAPH_NET:
        return net_endpoint_match(&t->net, &f->net);
    case GRAPH_FLAG:
        return f->num != 0;
    case GRAPH_LITERAL: /* of (process-command …) */
        return f->str && (t->num || !f->num) && graph_command_fits(t->str, t->len, f->str, f->len);
    default:
        return false;
    }
}

static void find_others(const struct graph *g, const struct entry *e, uint16_t filter,
                        const struct graph_fact *f, struct hits *hits)
{
    uint32_t at = wanted_slot(g, e, filter);
    for (uint32_t i = 0; at != GRAPH_NONE && i < g->slots[at].nothers; i++)
        if (other_holds(&g->tests[g->slots[at].others[i]], f))
            hits_add(hits, g->slots[at].others[i]);
}

static void find_number(const struct graph *g, struct graph_cache *c, const struct entry *e,
                        uint16_t filter, int64_t num)
{
    uint32_t at = wanted_slot(g, e, filter);
    if (at != GRAPH_NONE && g->slots[at].nints)
        find_int(&g->slots[at], num, &c->hits);
}

/* What an endpoint says about its socket, unless the query says it itself. */
static void find_socket(const struct graph *g, struct graph_cache *c, const struct entry *e,
                        const struct graph_query *q, uint16_t filter, int64_t num)
{
    for (size_t i = 0; num && i < q->nfacts; i++)
        if (q->facts[i].filter == filter)
            return;
    if (num)
        find_number(g, c, e, filter, num);
}

/* An endpoint also implies the protocol and the kind of socket, and its string is the socket's path
 * or the host. An endpoint with a path is a Unix socket. */
static void find_network(const struct graph *g, struct graph_cache *c, const struct entry *e,
                         const struct graph_query *q, const struct graph_fact *f)
{
    const char *protocol = net_transport_name(f->net.proto);
    const struct net_socket socket = net_socket_of(f->net.proto);
    if (protocol)
        find_string(g, c, e, FILTER_PROTOCOL, protocol, (uint32_t)strlen(protocol));
    find_socket(g, c, e, q, FILTER_SOCKET_DOMAIN, socket.domain);
    find_socket(g, c, e, q, FILTER_SOCKET_TYPE, socket.type);
    find_socket(g, c, e, q, FILTER_SOCKET_PROTOCOL, socket.protocol);
    if (f->net.proto & NET_UNIX) {
        find_string(g, c, e, FILTER_PATH, f->str, f->len);
    } else if (f->filter == FILTER_REMOTE) {
        find_domain(g, e, f->str, f->len, &c->hits);
    }
}

static void find_tests(const struct graph *g, struct graph_cache *c, const struct entry *e,
                       const struct graph_query *q)
{
    for (size_t i = 0; i < q->nfacts; i++) {
        const struct graph_fact *f = &q->facts[i];
        if (f->filter == FILTER_REMOTE || f->filter == FILTER_LOCAL)
            find_network(g, c, e, q, f);
        uint32_t at = wanted_slot(g, e, f->filter);
        if (at == GRAPH_NONE)
            continue;
        if (f->filter == FILTER_DOMAIN)
            find_domain(g, e, f->str, f->len, &c->hits);
        find_string(g, c, e, f->filter, f->str, f->len);
        if (g->slots[at].nints)
            find_int(&g->slots[at], f->num, &c->hits);
        find_others(g, e, f->filter, f, &c->hits);
    }
}

static void forget_tests(struct hits *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        h->bits[h->list[i] >> 6] = 0;
    h->n = 0;
}

/* ---- walking ---- */

/* The last place of a test in this chain at or before `pos`; places are sorted. Returns its
 * position + 1, or 0. */
static uint32_t last_place(const struct graph *g, uint32_t test, struct place from)
{
    uint32_t lo = g->occurs_from[test], hi = g->occurs_from[test + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct place *p = &g->occurs[mid];
        if (p->chain < from.chain || (p->chain == from.chain && p->pos <= from.pos))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == g->occurs_from[test] || g->occurs[lo - 1].chain != from.chain)
        return 0;
    return g->occurs[lo - 1].pos + 1;
}

static uint32_t jump(const struct graph *g, const struct hits *h, uint32_t node)
{
    struct place from = g->place_of[node];
    const struct chain *c = &g->chains[from.chain];
    uint32_t best = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t pos = last_place(g, h->list[i], from);
        if (pos > best)
            best = pos;
    }
    return best ? g->nodes[g->chain_nodes[c->first + best - 1]].match : c->exit;
}

static uint32_t walk(const struct graph *g, const struct hits *h, uint32_t node)
{
    while (g->nodes[node].kind == GRAPH_NODE_FILTER) {
        const struct graph_node *n = &g->nodes[node];
        if (h->n <= JUMP_MAX)
            node = jump(g, h, node);
        else
            node = hits_has(h, n->test) ? n->match : n->unmatch;
    }
    return node;
}

static uint32_t walk_steps(const struct graph *g, const struct hits *h, uint32_t node,
                           graph_step_fn *step, void *arg)
{
    while (g->nodes[node].kind == GRAPH_NODE_FILTER) {
        const struct graph_node *n = &g->nodes[node];
        bool holds = hits_has(h, n->test);
        step(arg, node, holds);
        node = holds ? n->match : n->unmatch;
    }
    return node;
}

static struct graph_verdict verdict_of(const struct graph *g, uint32_t node)
{
    const struct graph_node *n = &g->nodes[node];
    return (struct graph_verdict){
        .allow = n->allow, .flags = n->flags, .node = node, .rule = n->rule};
}

const struct entry *graph_entry_of(const struct graph *g, const struct graph_query *q)
{
    if (q->op >= OP_COUNT || q->policy > g->npolicies)
        return NULL;
    return &g->entries[g->entry_index[(size_t)q->policy * OP_COUNT + q->op]];
}

static const struct graph_verdict out_of_range = {.allow = false,
                                                  .flags = VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT,
                                                  .node = GRAPH_NONE,
                                                  .rule = GRAPH_NO_RULE};

struct graph_verdict graph_eval(const struct graph *g, struct graph_cache *cache,
                                const struct graph_query *q)
{
    const struct entry *e = graph_entry_of(g, q);
    if (!e)
        return out_of_range;
    if (g->nodes[e->node].kind == GRAPH_NODE_DECISION)
        return verdict_of(g, e->node);
    find_tests(g, cache, e, q);
    uint32_t node = walk(g, &cache->hits, e->node);
    forget_tests(&cache->hits);
    return verdict_of(g, node);
}

struct graph_verdict graph_trace(const struct graph *g, struct graph_cache *cache,
                                 const struct graph_query *q, graph_step_fn *step, void *arg)
{
    const struct entry *e = graph_entry_of(g, q);
    if (!e)
        return out_of_range;
    find_tests(g, cache, e, q);
    uint32_t node = walk_steps(g, &cache->hits, e->node, step, arg);
    forget_tests(&cache->hits);
    return verdict_of(g, node);
}

/* ---- before the request is known ---- */

bool graph_tests_requests(const struct graph *g)
{
    for (uint32_t i = 0; i < g->ntests; i++)
        if (graph_test_is_of_request(&g->tests[i]))
            return true;
    return false;
}

static void reach(uint64_t *reached, uint32_t node)
{
    reached[node / 64] |= UINT64_C(1) << (node % 64);
}

static void reach_next(const struct graph *g, struct graph_cache *c, uint32_t node,
                       graph_step_fn *step, void *arg)
{
    const struct graph_node *n = &g->nodes[node];
    bool either = graph_test_is_of_request(&g->tests[n->test]), holds = hits_has(&c->hits, n->test);
    if (either || holds)
        reach(c->reached, n->match);
    if (either || !holds)
        reach(c->reached, n->unmatch);
    if (step && !either)
        step(arg, node, holds);
}

static void note_decision(const struct graph *g, uint32_t node, struct graph_range *r)
{
    struct graph_verdict v = verdict_of(g, node);
    if (v.allow) {
        r->allow = v;
        r->may_allow = true;
    } else {
        r->deny = v;
        r->may_deny = true;
    }
}

/* Every edge leads to a smaller number, so that one pass downwards finds all that can be reached.
 */
struct graph_range graph_eval_before_request(const struct graph *g, struct graph_cache *cache,
                                             const struct graph_query *q, graph_step_fn *step,
                                             void *arg)
{
    struct graph_range r = {0};
    const struct entry *e = graph_entry_of(g, q);
    if (!e || !cache->reached) {
        r.deny = out_of_range;
        r.may_deny = true;
        return r;
    }
    find_tests(g, cache, e, q);
    reach(cache->reached, e->node);
    for (uint32_t word = e->node / 64 + 1; word-- > 0;)
        while (cache->reached[word]) {
            uint32_t node = word * 64 + 63 - (uint32_t)__builtin_clzll(cache->reached[word]);
            cache->reached[word] &= ~(UINT64_C(1) << (node % 64));
            if (g->nodes[node].kind == GRAPH_NODE_FILTER)
                reach_next(g, cache, node, step, arg);
            else
                note_decision(g, node, &r);
        }
    forget_tests(&cache->hits);
    return r;
}

/* The linter asks for one literal after the other, each with many tests, so the hits of the last
 * literal are kept. The linter does not share its cache. */
bool graph_literal_holds(const struct graph *g, struct graph_cache *cache, uint32_t a, uint32_t b)
{
    const struct graph_test *t = &g->tests[b];
    if (cache->literal != b + 1) {
        struct entry e;
        memset(&e, 0xff, sizeof(e));
        if (!g->slots[g->slot_of[t->filter] - 1].regexes)
            memset(e.regex, 0, sizeof(e.regex));
        forget_tests(&cache->hits);
        find_string(g, cache, &e, t->filter, t->str, t->len);
        cache->literal = b + 1;
    }
    return hits_has(&cache->hits, a);
}
