/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Hash-consing: equal tests become one test, equal nodes one node. Both tables are open-addressed
 * arrays of index + 1 into the graph's arrays. The hash is seeded with the builder's address, so
 * that a profile cannot be written to collide. Results do not depend on the seed, because indices
 * follow the order of first appearance.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/build-int.h"
#include "graph/graph-int.h"

enum { FIRST_TABLE = 1024 }; /* the default profile has 400 tests and 500 nodes */

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_bytes(uint64_t h, const char *s, size_t n)
{
    uint64_t w;
    for (; n >= sizeof(w); s += sizeof(w), n -= sizeof(w)) {
        memcpy(&w, s, sizeof(w));
        h = mix(h, w);
    }
    w = 0;
    if (n)
        memcpy(&w, s, n);
    return mix(h ^ n, w);
}

static uint64_t hash_test(uint64_t seed, const struct graph_test *t)
{
    uint64_t h = mix(seed, (uint64_t)t->filter << 8 | t->how);
    h = mix(h, (uint64_t)t->num);
    h = mix(h, (uint64_t)t->net.proto << 48 | (uint64_t)t->net.host << 40 |
                   (uint64_t)t->net.port_lo << 16 | t->net.port_hi);
    h = hash_bytes(h ^ t->net.prefix, (const char *)t->net.addr, sizeof(t->net.addr));
    return hash_bytes(h, t->str, t->len);
}

static bool same_endpoint(const struct net_endpoint *a, const struct net_endpoint *b)
{
    return a->proto == b->proto && a->host == b->host && a->prefix == b->prefix &&
           a->port_lo == b->port_lo && a->port_hi == b->port_hi &&
           memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

bool graph_test_same(const struct graph_test *a, const struct graph_test *b)
{
    return a->filter == b->filter && a->how == b->how && a->num == b->num && a->len == b->len &&
           (a->len == 0 || memcmp(a->str, b->str, a->len) == 0) && same_endpoint(&a->net, &b->net);
}

static uint64_t hash_node(uint64_t seed, const struct graph_node *n)
{
    return mix(mix(seed, n->test), (uint64_t)n->match << 32 | n->unmatch);
}

/* Doubles the table and reinserts the first `count` elements. */
static int table_grow(struct graph_build *b, struct intern_table *t, struct bk_err *err)
{
    uint32_t size = t->slots ? (t->mask + 1) * 2 : FIRST_TABLE;
    size_t bytes = (size_t)size * sizeof(*t->slots);
    if (bytes > b->g->opt.max_bytes - b->bytes)
        return build_exhausted(b, err);
    uint32_t *slots = calloc(size, sizeof(*slots));
    if (!slots)
        return err_nomem(err);
    const struct graph *g = b->g;
    bool nodes = t == &b->node_table;
    for (uint32_t i = 0; t->slots && i <= t->mask; i++) {
        uint32_t at = t->slots[i];
        if (!at)
            continue;
        uint64_t h =
            nodes ? hash_node(b->seed, &g->nodes[at - 1]) : hash_test(b->seed, &g->tests[at - 1]);
        uint32_t k = (uint32_t)h & (size - 1);
        while (slots[k])
            k = (k + 1) & (size - 1);
        slots[k] = at;
    }
    b->bytes += bytes / (t->slots ? 2 : 1);
    free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
    return 0;
}

static int table_room(struct graph_build *b, struct intern_table *t, struct bk_err *err)
{
    if (t->slots && t->count < (t->mask + 1) / 2)
        return 0;
    return table_grow(b, t, err);
}

bool graph_how_is_string(uint8_t how)
{
    return how <= GRAPH_REGEX;
}

static int check_test(const struct graph_test *t, struct bk_err *err)
{
    if (t->filter >= FILTER_COUNT || t->how > GRAPH_FLAG)
        return err_set(err, BK_E_BUG, "filter %u does not exist", t->filter);
    if ((graph_how_is_string(t->how) || t->how == GRAPH_DOMAIN) && !t->str)
        return err_set(err, BK_E_BUG, "filter %s without its string",
                       vocab_filters[t->filter].name);
    if (t->how == GRAPH_DOMAIN && t->filter != FILTER_DOMAIN)
        return err_set(err, BK_E_BUG, "filter %s takes no domain", vocab_filters[t->filter].name);
    return 0;
}

/* Clears the fields that this kind of test does not use, so that equal tests are equal bytes. */
static struct graph_test canonical(const struct graph_test *t)
{
    struct graph_test c = {.filter = t->filter, .how = t->how};
    if (graph_how_is_string(t->how) || t->how == GRAPH_DOMAIN) {
        c.str = t->str;
        c.len = t->len;
        c.num = t->filter == FILTER_PROCESS_COMMAND ? t->num : 0; /* command.h */
    } else if (t->how == GRAPH_INT || t->how == GRAPH_MODE) {
        c.num = t->num;
    } else if (t->how == GRAPH_NET) {
        c.net = t->net;
    }
    return c;
}

static bool folds(const struct graph_build *b, const struct graph_test *t)
{
    return b->g->opt.fold_case && vocab_filter_is_path(t->filter) && graph_how_is_string(t->how) &&
           t->how != GRAPH_REGEX;
}

/* Copies the string into the graph's arena, lowercased when case is ignored, so that "/A" and "/a"
 * are one test. Regexes are not lowercased here; their automaton does that. */
static int own_string(struct graph_build *b, struct graph_test *t, struct bk_err *err)
{
    if (!t->str)
        return 0;
    char *s = arena_strndup(&b->g->arena, t->str, t->len);
    if (!s)
        return build_exhausted(b, err);
    for (uint32_t i = 0; folds(b, t) && i < t->len; i++)
        if (s[i] >= 'A' && s[i] <= 'Z')
            s[i] = (char)(s[i] + ('a' - 'A'));
    t->str = s;
    return 0;
}

int intern_test(struct graph_build *b, const struct graph_test *test, uint32_t *out,
                struct bk_err *err)
{
    if (check_test(test, err) < 0)
        return -1;
    struct graph *g = b->g;
    struct graph_test t = canonical(test);
    if ((folds(b, &t) && own_string(b, &t, err) < 0) || table_room(b, &b->test_table, err) < 0)
        return -1;
    uint32_t k = (uint32_t)hash_test(b->seed, &t) & b->test_table.mask;
    for (uint32_t at; (at = b->test_table.slots[k]) != 0; k = (k + 1) & b->test_table.mask)
        if (graph_test_same(&g->tests[at - 1], &t)) {
            *out = at - 1;
            return 0;
        }
    if ((!folds(b, &t) && own_string(b, &t, err) < 0) ||
        build_room(b, &g->tests, &b->cap_tests, g->ntests, sizeof(*g->tests), err) < 0)
        return -1;
    g->tests[g->ntests] = t;
    *out = g->ntests++;
    b->test_table.slots[k] = g->ntests;
    b->test_table.count++;
    return 0;
}

static int add_node(struct graph_build *b, const struct graph_node *n, uint32_t *out,
                    struct bk_err *err)
{
    struct graph *g = b->g;
    if (build_room(b, &g->nodes, &b->cap_nodes, g->nnodes, sizeof(*g->nodes), err) < 0)
        return -1;
    g->nodes[g->nnodes] = *n;
    *out = g->nnodes++;
    return 0;
}

int intern_node(struct graph_build *b, uint32_t test, uint32_t match, uint32_t unmatch,
                uint32_t rule, uint32_t *out, struct bk_err *err)
{
    if (match == unmatch) {
        *out = match;
        return 0;
    }
    const struct graph *g = b->g;
    struct graph_node n = {
        .kind = GRAPH_NODE_FILTER, .test = test, .match = match, .unmatch = unmatch, .rule = rule};
    if (g->opt.apart)
        return add_node(b, &n, out, err);
    if (table_room(b, &b->node_table, err) < 0)
        return -1;
    uint32_t k = (uint32_t)hash_node(b->seed, &n) & b->node_table.mask;
    for (uint32_t at; (at = b->node_table.slots[k]) != 0; k = (k + 1) & b->node_table.mask) {
        const struct graph_node *o = &g->nodes[at - 1];
        if (o->test == test && o->match == match && o->unmatch == unmatch) {
            *out = at - 1;
            return 0;
        }
    }
    if (add_node(b, &n, out, err) < 0)
        return -1;
    b->node_table.slots[k] = g->nnodes;
    b->node_table.count++;
    return 0;
}

void intern_free(struct graph_build *b)
{
    free(b->test_table.slots);
    free(b->node_table.slots);
    b->test_table = b->node_table = (struct intern_table){0};
}
