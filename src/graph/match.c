/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The index of a frozen graph that evaluation uses, built on first use.
 *
 * Slots: all tests of one filter, whatever the operation, so that one fact is compared with all of
 * them at once. Strings are in a trie and a regex set, numbers are sorted, the rest is a list.
 *
 * Chains: long lists of rules become long runs of nodes linked by unmatch edges. Each node has a
 * place (chain, position), and each test lists the places where it occurs. Once the few tests that
 * hold are known, the next relevant node is the closest of their places; evaluation skips the nodes
 * in between.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/graph-int.h"

_Static_assert(FILTER_COUNT < 255, "slots are numbered in a byte");

static int exhausted(struct bk_err *err)
{
    return err_set(err, BK_E_LIMIT, "the policy's filters need too much memory");
}

/* ---- slots ---- */

static void count_slots(struct graph *g, uint32_t *counts)
{
    for (uint32_t i = 0; i < g->ntests; i++) {
        uint16_t f = g->tests[i].filter;
        if (!g->slot_of[f])
            g->slot_of[f] = (uint8_t)++g->nslots;
        counts[f]++;
    }
}

/* Adds the source position of the rule that first uses this test to an error. */
static void place_of_test(const struct graph *g, uint32_t test, struct bk_err *err)
{
    for (uint32_t r = 0; r < g->nrules; r++)
        for (uint32_t i = 0; i < g->bodies[r].nitems; i++) {
            uint32_t item = g->items[g->bodies[r].item + i];
            if (item_kind(item) != GRAPH_TEST || item_value(item) != test)
                continue;
            const struct graph_origin *o = &g->rules[r].origin;
            if (o->file && o->line)
                err_place(err, o->file, o->line, o->col);
            return;
        }
}

static bool folds(const struct graph *g, const struct slot *s)
{
    return g->opt.fold_case && vocab_filter_is_path(s->filter);
}

static int add_regex(struct graph *g, struct slot *s, uint32_t test, uint32_t total,
                     struct bk_err *err)
{
    const struct graph_test *t = &g->tests[test];
    uint32_t id;
    if (!s->regexes) {
        s->regexes = regex_set_new(&g->arena, folds(g, s), NULL);
        s->regex_tests = arena_array(&g->arena, total, sizeof(*s->regex_tests));
        if (!s->regexes || !s->regex_tests)
            return exhausted(err);
    }
    if (regex_set_add(s->regexes, t->str, t->len, &id, err) < 0) {
        place_of_test(g, test, err);
        return -1;
    }
    s->regex_tests[id] = test;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct int_test *x = a, *y = b;
    return (x->num > y->num) - (x->num < y->num);
}

static int by_key(const void *a, const void *b)
{
    const struct domain_test *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Sorts the tests of one filter into its slot. tests has n entries, keys has room for n. */
static int fill_slot(struct graph *g, struct slot *s, const uint32_t *tests, uint32_t n,
                     struct trie_key *keys, struct bk_err *err)
{
    size_t nkeys = 0;
    s->ints = arena_array(&g->arena, n, sizeof(*s->ints));
    s->others = arena_array(&g->arena, n, sizeof(*s->others));
    s->domains = arena_array(&g->arena, s->filter == FILTER_DOMAIN ? n : 0, sizeof(*s->domains));
    if (!s->ints || !s->others || !s->domains)
        return exhausted(err);
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_test *t = &g->tests[tests[i]];
        if (s->filter == FILTER_PROCESS_COMMAND) {
            s->others[s->nothers++] = tests[i]; /* its texts are patterns (command.h) */
        } else if (t->how == GRAPH_REGEX) {
            if (add_regex(g, s, tests[i], n, err) < 0)
                return -1;
        } else if (graph_how_is_string(t->how)) {
            keys[nkeys++] = (struct trie_key){t->str, t->len, tests[i], t->how};
        } else if (t->how == GRAPH_INT) {
            s->ints[s->nints++] = (struct int_test){t->num, tests[i]};
        } else if (t->how == GRAPH_DOMAIN) {
            s->domains[s->ndomains++] =
                (struct domain_test){net_domain_key(t->str, t->len), tests[i]};
        } else {
            s->others[s->nothers++] = tests[i];
        }
    }
    qsort(s->ints, s->nints, sizeof(*s->ints), by_number);
    qsort(s->domains, s->ndomains, sizeof(*s->domains), by_key);
    if (trie_build(&s->trie, &g->arena, keys, nkeys, folds(g, s)) < 0)
        return exhausted(err);
    return s->regexes ? regex_set_freeze(s->regexes, err) : 0;
}

static int fill_slots(struct graph *g, uint32_t *sorted, const uint32_t *counts,
                      struct trie_key *keys, struct bk_err *err)
{
    uint32_t ends[FILTER_COUNT], at = 0;
    for (uint32_t f = 0; f < FILTER_COUNT; f++) {
        ends[f] = at;
        at += counts[f];
    }
    for (uint32_t i = 0; i < g->ntests; i++)
        sorted[ends[g->tests[i].filter]++] = i;
    for (uint32_t f = 0; f < FILTER_COUNT; f++) {
        if (!g->slot_of[f])
            continue;
        struct slot *s = &g->slots[g->slot_of[f] - 1];
        s->filter = (uint16_t)f;
        if (fill_slot(g, s, sorted + ends[f] - counts[f], counts[f], keys, err) < 0)
            return -1;
    }
    return 0;
}

static int index_tests(struct graph *g, struct bk_err *err)
{
    uint32_t counts[FILTER_COUNT] = {0};
    g->nslots = 0; /* an earlier attempt may have run out of memory */
    memset(g->slot_of, 0, sizeof(g->slot_of));
    count_slots(g, counts);
    g->slots = arena_array(&g->arena, g->nslots, sizeof(*g->slots));
    if (!g->slots)
        return exhausted(err);
    uint32_t *sorted = malloc(sizeof(*sorted) * ((size_t)g->ntests + 1));
    struct trie_key *keys = malloc(sizeof(*keys) * ((size_t)g->ntests + 1));
    int r = sorted && keys ? fill_slots(g, sorted, counts, keys, err) : err_nomem(err);
    free(sorted);
    free(keys);
    return r;
}

/* ---- chains ---- */

/* A node joins the chain that its unmatch edge leads to if that edge leads to the chain's head. */
static void form_chains(struct graph *g)
{
    for (uint32_t i = 0; i < g->nnodes; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (n->kind != GRAPH_NODE_FILTER)
            continue;
        struct place u = g->place_of[n->unmatch];
        bool joins =
            g->nodes[n->unmatch].kind == GRAPH_NODE_FILTER && g->chains[u.chain].len == u.pos + 1;
        if (!joins) {
            u.chain = g->nchains++;
            g->chains[u.chain].exit = n->unmatch;
        }
        g->place_of[i] = (struct place){u.chain, g->chains[u.chain].len++};
    }
    uint32_t at = 0;
    for (uint32_t c = 0; c < g->nchains; c++) {
        g->chains[c].first = at;
        at += g->chains[c].len;
    }
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == GRAPH_NODE_FILTER)
            g->chain_nodes[g->chains[g->place_of[i].chain].first + g->place_of[i].pos] = i;
}

/* Lists each test's places. Chains are visited in order, so every list is sorted. */
static void list_occurrences(struct graph *g, uint32_t nfilters)
{
    for (uint32_t k = 0; k < nfilters; k++)
        g->occurs_from[g->nodes[g->chain_nodes[k]].test + 1]++;
    for (uint32_t t = 0; t < g->ntests; t++)
        g->occurs_from[t + 1] += g->occurs_from[t];
    for (uint32_t k = 0; k < nfilters; k++) {
        uint32_t node = g->chain_nodes[k];
        g->occurs[g->occurs_from[g->nodes[node].test]++] = g->place_of[node];
    }
    for (uint32_t t = g->ntests; t > 0; t--)
        g->occurs_from[t] = g->occurs_from[t - 1];
    g->occurs_from[0] = 0;
}

static int index_chains(struct graph *g, struct bk_err *err)
{
    uint32_t nfilters = 0;
    for (uint32_t i = 0; i < g->nnodes; i++)
        nfilters += g->nodes[i].kind == GRAPH_NODE_FILTER;
    g->chains = arena_array(&g->arena, nfilters, sizeof(*g->chains));
    g->chain_nodes = arena_array(&g->arena, nfilters, sizeof(*g->chain_nodes));
    g->place_of = arena_array(&g->arena, g->nnodes, sizeof(*g->place_of));
    g->occurs_from = arena_array(&g->arena, (size_t)g->ntests + 1, sizeof(*g->occurs_from));
    g->occurs = arena_array(&g->arena, nfilters, sizeof(*g->occurs));
    if (!g->chains || !g->chain_nodes || !g->place_of || !g->occurs_from || !g->occurs)
        return exhausted(err);
    form_chains(g);
    list_occurrences(g, nfilters);
    return 0;
}

/* ---- both, now or later ---- */

enum { SAFE_TESTS = 16384, SAFE_BYTES = 64 << 10 };

/* A launch plans without evaluating, so the index waits until the judge first needs it, while the
 * command is starting. But a profile that exceeds a limit must fail at compile time. Patterns that
 * were checked and have no counted repeats become automata proportional to their text. */
bool graph_index_is_safe(const struct graph *g)
{
    size_t bytes = 0;
    if (!g->opt.checked || g->ntests > SAFE_TESTS)
        return false;
    for (uint32_t i = 0; i < g->ntests; i++) {
        const struct graph_test *t = &g->tests[i];
        if (t->how != GRAPH_REGEX)
            continue;
        bytes += t->len;
        if (bytes > SAFE_BYTES || memchr(t->str, '{', t->len))
            return false;
    }
    return true;
}

int graph_index(struct graph *g, struct bk_err *err)
{
    if (index_tests(g, err) < 0 || index_chains(g, err) < 0)
        return -1;
    g->indexed = true;
    return 0;
}

void graph_forget_index(struct graph *g)
{
    g->indexed = false;
    g->slots = NULL;
    g->nslots = g->nchains = 0;
    memset(g->slot_of, 0, sizeof(g->slot_of));
    g->chains = NULL;
    g->chain_nodes = NULL;
    g->place_of = g->occurs = NULL;
    g->occurs_from = NULL;
}

int graph_index_late(const struct graph *g)
{
    struct graph *own = (struct graph *)g; /* all readers of this part come through here first */
    struct bk_err err;
    pthread_mutex_lock(&own->lock);
    int r = own->indexed ? 0 : graph_index(own, &err);
    pthread_mutex_unlock(&own->lock);
    return r;
}
