/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tests of two graphs, and which can hold together. For filters with at most one value per
 * query, values fall into kinds for which all tests give the same results:
 *
 *   strings    the patterns become one automaton; each set of patterns that hold together has a
 *              shortest string;
 *   numbers    those that are named, and one that is not;
 *   endpoints  protocol, address and port, each at the borders of what is named;
 *   bits       every set of those that are named.
 *
 * Names and attributes that may have several values in a query are independent of each other.
 * Domains are treated as independent too, which allows combinations that no argument has.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"
#include "base/own.h"
#include "graph/words.h"

enum {
    MAX_STATES = 200000,
    MAX_KINDS = 50000,
    MAX_KIND_BYTES = 128 << 20,
    MAX_ENDPOINTS = 400000,
    MAX_BITS = 12,
};

bool diff_is_single(uint16_t filter)
{
    uint8_t arg = vocab_filters[filter].arg;
    if (filter == FILTER_ENTITLEMENT_STRING) /* KEY=VALUE, of many */
        return false;
    return arg == ARG_PATH || arg == ARG_STRING || arg == ARG_NETWORK || arg == ARG_MODE ||
           (arg == ARG_INT && !strstr(vocab_filters[filter].name, "attribute"));
}

/* ---- joining ---- */

static uint64_t hash_test(const struct graph_test *t)
{
    uint64_t h = ((uint64_t)t->filter << 8 | t->how) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (uint64_t)t->num ^ t->net.port_lo ^ h >> 31) * UINT64_C(0xff51afd7ed558ccd);
    for (uint32_t i = 0; i < t->len; i++)
        h = (h ^ (unsigned char)t->str[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

/* A Unix socket has that domain: both spellings are one test. */
static const struct graph_test *plainly(const struct graph_test *t)
{
    static const struct graph_test unix_domain = {
        .filter = FILTER_SOCKET_DOMAIN, .how = GRAPH_INT, .num = NET_DOMAIN_UNIX};
    return t->how == GRAPH_NET && t->net.proto == NET_UNIX ? &unix_domain : t;
}

static bool list_dimensions(struct diff_tests *t)
{
    uint32_t *lists = arena_array(t->arena, t->n + 1u, sizeof(*lists)), from = 0;
    t->local = arena_array(t->arena, t->n + 1u, sizeof(*t->local));
    t->kinds_of = arena_array(t->arena, t->n + 1u, sizeof(*t->kinds_of));
    if (!lists || !t->local || !t->kinds_of)
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        t->dims[t->at[i]->filter].ntests++;
    for (uint32_t f = 0; f < FILTER_COUNT; f++) {
        t->dims[f].all = lists + from;
        from += t->dims[f].ntests;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        struct dimension *d = &t->dims[t->at[i]->filter];
        d->all[d->nall++] = i;
    }
    return true;
}

bool diff_tests_narrow(struct diff_tests *t, const bool *matters)
{
    for (uint32_t f = 0; f < FILTER_COUNT; f++) {
        struct dimension *d = &t->dims[f];
        *d = (struct dimension){.all = d->all, .nall = d->nall};
        d->tests = arena_array(t->arena, d->nall + 1u, sizeof(*d->tests));
        if (!d->tests)
            return false;
        for (uint32_t i = 0; i < d->nall; i++)
            if (matters[d->all[i]]) {
                t->local[d->all[i]] = d->ntests;
                d->tests[d->ntests++] = d->all[i];
            }
    }
    return true;
}

bool diff_tests_join(struct diff_tests *t, const struct graph *a, const struct graph *b)
{
    const struct graph *const graphs[2] = {a, b};
    size_t most = (size_t)a->ntests + b->ntests + 1;
    uint32_t size = 16;
    while (size < most * 2)
        size *= 2;
    OWN(mem) uint32_t *slots = calloc(size, sizeof(*slots));
    t->fold = a->opt.fold_case;
    t->at = arena_array(t->arena, most, sizeof(*t->at));
    if (!slots || !t->at)
        return false;
    for (int s = 0; s < 2; s++) {
        t->index[s] = arena_array(t->arena, graphs[s]->ntests + 1u, sizeof(**t->index));
        for (uint32_t i = 0; t->index[s] && i < graphs[s]->ntests; i++) {
            const struct graph_test *test = plainly(&graphs[s]->tests[i]);
            uint32_t k = (uint32_t)hash_test(test) & (size - 1);
            while (slots[k] && !graph_test_same(t->at[slots[k] - 1], test))
                k = (k + 1) & (size - 1);
            if (!slots[k]) {
                t->at[t->n++] = test;
                slots[k] = t->n;
            }
            t->index[s][i] = slots[k] - 1;
        }
    }
    return t->index[0] && t->index[1] && list_dimensions(t);
}

/* ---- kinds ---- */

static uint32_t words_of(const struct dimension *d)
{
    return (d->ntests + 63) / 64 + 1;
}

static uint32_t hash_set(const uint64_t *set, uint32_t words)
{
    uint64_t h = 1;
    for (uint32_t i = 0; i < words; i++)
        h = (h ^ set[i] ^ h >> 29) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static bool room_for_kind(struct diff_tests *t, struct dimension *d)
{
    uint32_t words = words_of(d), cap = d->cap ? d->cap * 2 : 64;
    if (d->n < d->cap)
        return true;
    if (cap > MAX_KINDS * 2 || (uint64_t)cap * words * 8 > MAX_KIND_BYTES)
        return false;
    struct kind *kinds = arena_array(t->arena, cap, sizeof(*kinds));
    uint64_t *holds = arena_array(t->arena, (size_t)cap * words, sizeof(*holds));
    uint32_t *slots = arena_array(t->arena, (size_t)cap * 2, sizeof(*slots));
    if (!kinds || !holds || !slots)
        return false;
    if (d->n) {
        memcpy(kinds, d->kinds, sizeof(*kinds) * d->n);
        memcpy(holds, d->holds, sizeof(*holds) * words * d->n);
    }
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t k = hash_set(holds + (size_t)i * words, words) & (cap * 2 - 1);
        while (slots[k])
            k = (k + 1) & (cap * 2 - 1);
        slots[k] = i + 1;
    }
    d->kinds = kinds;
    d->holds = holds;
    d->slots = slots;
    d->mask = cap * 2 - 1;
    d->cap = cap;
    return true;
}

/* Adds a kind for which exactly these tests of the filter hold, unless it exists: the first example
 * stays. */
static bool add_kind(struct diff_tests *t, struct dimension *d, const uint64_t *set,
                     const struct kind *example)
{
    uint32_t words = words_of(d);
    if (!room_for_kind(t, d))
        return false;
    uint32_t k = hash_set(set, words) & d->mask;
    for (; d->slots[k]; k = (k + 1) & d->mask)
        if (memcmp(d->holds + (size_t)(d->slots[k] - 1) * words, set, words * sizeof(*set)) == 0)
            return true;
    d->kinds[d->n] = *example;
    memcpy(d->holds + (size_t)d->n * words, set, words * sizeof(*set));
    if (example->fact.str) {
        d->kinds[d->n].fact.str = arena_strndup(t->arena, example->fact.str, example->fact.len);
        if (!d->kinds[d->n].fact.str)
            return false;
    }
    d->slots[k] = ++d->n;
    return true;
}

static void set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static bool make_numbers(struct diff_tests *t, struct dimension *d, uint16_t filter, uint64_t *set)
{
    struct kind other = {.fact = {.filter = filter, .num = 1}};
    for (uint32_t i = 0; i < d->ntests; i++) {
        struct kind k = {.fact = {.filter = filter, .num = t->at[d->tests[i]]->num}};
        memset(set, 0, words_of(d) * sizeof(*set));
        set_bit(set, i);
        if (!add_kind(t, d, set, &k))
            return false;
        if (k.fact.num >= other.fact.num && k.fact.num < INT64_MAX)
            other.fact.num = k.fact.num + 1;
    }
    memset(set, 0, words_of(d) * sizeof(*set));
    return add_kind(t, d, set, &other);
}

static bool make_bits(struct diff_tests *t, struct dimension *d, uint16_t filter, uint64_t *set)
{
    int64_t bits[MAX_BITS], used = 0;
    unsigned n = 0;
    for (uint32_t i = 0; i < d->ntests; i++)
        used |= t->at[d->tests[i]]->num;
    for (unsigned b = 0; b < 63; b++)
        if (used >> b & 1) {
            if (n == MAX_BITS)
                return false;
            bits[n++] = INT64_C(1) << b;
        }
    for (uint32_t of = 0; of < 1u << n; of++) {
        struct kind k = {.fact = {.filter = filter}};
        for (unsigned b = 0; b < n; b++)
            k.fact.num |= of >> b & 1 ? bits[b] : 0;
        memset(set, 0, words_of(d) * sizeof(*set));
        for (uint32_t i = 0; i < d->ntests; i++)
            if (k.fact.num & t->at[d->tests[i]]->num)
                set_bit(set, i);
        if (!add_kind(t, d, set, &k))
            return false;
    }
    return true;
}

/* ---- strings ---- */

struct strings {
    struct diff_tests *t;
    struct dimension *d;
    uint16_t filter;
    uint64_t *set;
};

static bool new_string(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len)
{
    struct strings *x = arg;
    struct kind k = {.fact = {.filter = x->filter, .str = s, .len = (uint32_t)len}};
    return diff_add_kind(x->t, x->d, ids, n, x->set, &k);
}

bool diff_add_kind(struct diff_tests *t, struct dimension *d, const uint32_t *ids, size_t n,
                   uint64_t *set, const struct kind *example)
{
    memset(set, 0, words_of(d) * sizeof(*set));
    for (size_t i = 0; i < n; i++)
        set_bit(set, ids[i]);
    return add_kind(t, d, set, example);
}

struct regex_set *diff_strings(struct diff_tests *t, const struct dimension *d, uint16_t filter)
{
    struct regex_set *all = regex_set_new(t->arena, t->fold && vocab_filter_is_path(filter), NULL);
    for (uint32_t i = 0; all && i < d->ntests; i++) {
        uint32_t id;
        OWN(buf) struct buf pattern = {0};
        graph_test_regex(t->at[d->tests[i]], &pattern);
        if (!buf_ok(&pattern) || regex_set_add(all, pattern.s, pattern.n, &id, NULL) < 0 || id != i)
            return NULL;
    }
    return all && regex_set_freeze(all, NULL) == 0 ? all : NULL;
}

static bool make_strings(struct diff_tests *t, struct dimension *d, uint16_t filter, uint64_t *set)
{
    struct strings x = {.t = t, .d = d, .filter = filter, .set = set};
    if (t->sampling)
        return diff_sample_strings(t, d, filter, set);
    struct regex_set *all = diff_strings(t, d, filter);
    return all && regex_explore(all, MAX_STATES, new_string, &x) == 0;
}

/* ---- endpoints ---- */

struct endpoints {
    struct net_endpoint *hosts; /* host and address */
    uint32_t *ports;
    uint32_t nhosts, nports;
};

static void add_port(struct endpoints *e, uint32_t port)
{
    for (uint32_t i = 0; i < e->nports; i++)
        if (e->ports[i] == port)
            return;
    if (port <= UINT16_MAX)
        e->ports[e->nports++] = port;
}

static void add_host(struct endpoints *e, uint8_t host, const uint8_t addr[16])
{
    struct net_endpoint h = {.host = host, .prefix = 128};
    if (addr)
        memcpy(h.addr, addr, sizeof(h.addr));
    for (uint32_t i = 0; i < e->nhosts; i++)
        if (e->hosts[i].host == host && memcmp(e->hosts[i].addr, h.addr, sizeof(h.addr)) == 0)
            return;
    e->hosts[e->nhosts++] = h;
}

/* The first address of the network and the first after it: every range that networks divide the
 * addresses into starts at one of these. */
static void add_network(struct endpoints *e, const struct net_endpoint *n)
{
    uint8_t addr[16];
    unsigned prefix = n->prefix > 128 ? 128 : n->prefix;
    for (unsigned i = 0; i < 16; i++) {
        unsigned keep = prefix > 8 * i ? prefix - 8 * i : 0;
        addr[i] = n->addr[i] & (uint8_t)(keep >= 8 ? 0xff : 0xff00 >> keep);
    }
    add_host(e, NET_HOST_ADDRESS, addr);
    if (prefix == 0)
        return;
    unsigned carry = 1u << (7 - (prefix - 1) % 8);
    for (unsigned i = (prefix - 1) / 8 + 1; i-- > 0 && carry;) {
        unsigned sum = addr[i] + carry;
        addr[i] = (uint8_t)sum;
        carry = sum >> 8;
    }
    add_host(e, NET_HOST_ADDRESS, addr);
}

static bool is_four(const struct net_endpoint *h)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(h->addr, mapped, sizeof(mapped)) == 0;
}

static bool add_endpoint(struct diff_tests *t, struct dimension *d, uint64_t *set,
                         const struct kind *k)
{
    memset(set, 0, words_of(d) * sizeof(*set));
    for (uint32_t i = 0; i < d->ntests; i++)
        if (net_endpoint_match(&t->at[d->tests[i]]->net, &k->fact.net))
            set_bit(set, i);
    return add_kind(t, d, set, k);
}

static bool try_protocols(struct diff_tests *t, struct dimension *d, uint64_t *set, struct kind *k)
{
    static const uint16_t protos[2][3] = {{NET_TCP4, NET_UDP4, NET_IP4},
                                          {NET_TCP6, NET_UDP6, NET_IP6}};
    for (int family = 0; family < 2; family++)
        for (int p = 0; p < 3; p++) {
            if (k->fact.net.host == NET_HOST_ADDRESS && is_four(&k->fact.net) != (family == 0))
                continue;
            k->fact.net.proto = protos[family][p];
            if (!add_endpoint(t, d, set, k))
                return false;
        }
    return true;
}

static bool make_endpoints(struct diff_tests *t, struct dimension *d, uint16_t filter,
                           uint64_t *set)
{
    static const uint8_t zero[16], home[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    static const uint8_t home6[16] = {[15] = 1}, any4[16] = {[10] = 0xff, [11] = 0xff};
    struct endpoints e = {
        .hosts = arena_array(t->arena, 2 * (size_t)d->ntests + 8, sizeof(*e.hosts)),
        .ports = arena_array(t->arena, 2 * (size_t)d->ntests + 2, sizeof(*e.ports))};
    if (!e.hosts || !e.ports)
        return false;
    add_port(&e, 0);
    add_host(&e, NET_HOST_ANY, NULL);
    add_host(&e, NET_HOST_ADDRESS, home);
    add_host(&e, NET_HOST_ADDRESS, home6);
    add_host(&e, NET_HOST_ADDRESS, any4);
    add_host(&e, NET_HOST_ADDRESS, zero);
    for (uint32_t i = 0; i < d->ntests; i++) {
        const struct net_endpoint *n = &t->at[d->tests[i]]->net;
        add_port(&e, n->port_lo);
        add_port(&e, n->port_hi + 1u);
        if (n->host == NET_HOST_ADDRESS)
            add_network(&e, n);
    }
    if ((uint64_t)e.nhosts * e.nports * d->ntests > (uint64_t)MAX_ENDPOINTS * 64)
        return false;
    for (uint32_t h = 0; h < e.nhosts; h++)
        for (uint32_t p = 0; p < e.nports; p++) {
            struct kind k = {.fact = {.filter = filter, .net = e.hosts[h]}};
            k.fact.net.port_lo = k.fact.net.port_hi = (uint16_t)e.ports[p];
            if (!try_protocols(t, d, set, &k))
                return false;
        }
    return true;
}

/* ---- all ---- */

/* Transposes the table: by test instead of by kind. */
static bool turn_over(struct diff_tests *t, struct dimension *d)
{
    uint32_t words = words_of(d), kind_words = (d->n + 63) / 64;
    if ((uint64_t)d->ntests * kind_words * 8 > MAX_KIND_BYTES)
        return false;
    for (uint32_t i = 0; i < d->ntests; i++) {
        uint64_t *of = arena_array(t->arena, kind_words, sizeof(*of));
        if (!of)
            return false;
        for (uint32_t k = 0; k < d->n; k++)
            if (d->holds[(size_t)k * words + i / 64] >> (i % 64) & 1)
                set_bit(of, k);
        t->kinds_of[d->tests[i]] = of;
    }
    return true;
}

/* The builder does not check which tests a filter has. */
static bool fits(const struct graph_test *test)
{
    switch (vocab_filters[test->filter].arg) {
    case ARG_INT:
        return test->how == GRAPH_INT;
    case ARG_MODE:
        return test->how == GRAPH_MODE;
    case ARG_NETWORK:
        return test->how == GRAPH_NET;
    default:
        return graph_how_is_string(test->how);
    }
}

static bool make_kinds(struct diff_tests *t, uint16_t filter, uint64_t *set)
{
    struct dimension *d = &t->dims[filter];
    const struct kind absent = {.fact = {.filter = filter}, .absent = true};
    uint8_t arg = vocab_filters[filter].arg;
    for (uint32_t i = 0; i < d->ntests; i++)
        if (!fits(t->at[d->tests[i]]))
            return false;
    bool made = arg == ARG_INT       ? make_numbers(t, d, filter, set)
                : arg == ARG_MODE    ? make_bits(t, d, filter, set)
                : arg == ARG_NETWORK ? make_endpoints(t, d, filter, set)
                                     : make_strings(t, d, filter, set);
    memset(set, 0, words_of(d) * sizeof(*set));
    return made && add_kind(t, d, set, &absent) && turn_over(t, d);
}

const struct dimension *diff_kinds(struct diff_tests *t, uint16_t filter)
{
    struct dimension *d = &t->dims[filter];
    if (!d->made) {
        OWN(mem) uint64_t *set = calloc(words_of(d), sizeof(*set));
        d->made = true;
        d->failed = !set || !make_kinds(t, filter, set);
    }
    return d->failed ? NULL : d;
}
