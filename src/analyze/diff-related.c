/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Compares two diagrams without all kinds of strings, of which some policies have too many. On the
 * way down, what is known about a string is the tests that hold. A further test is excluded by one
 * of them, implied by one of them, or open; that takes only pairs of tests. Tests that do not hold
 * are forgotten if both graphs have them, so more is walked than an argument can reach. If no pair
 * of decisions differs even so, the graphs decide alike. Nodes that were compared under the same
 * conditions are not compared again. Where two decisions differ, a string is made for the few tests
 * that are known, and the evaluator says whether it shows a difference.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"
#include "base/own.h"
#include "graph/words.h"

enum {
    MAX_HELD = 64, /* results of tests, on one way down; others are forgotten */
    WITNESS_STATES = 20000,
    PAIR_STATES = 4000,
    PAIR_SLOTS = 1 << 16,
    MAX_COMPARED = 1 << 20,
};

enum relation { OPEN = 1, EXCLUDES, IMPLIES };

/* Two nodes, and what was known when they were compared. */
struct compared {
    uint64_t pair, state;
};

struct diff_related {
    struct {
        uint32_t test;
        bool holds;
    } held[MAX_HELD];
    uint32_t n;
    bool *shared; /* by test: both graphs have it */
    struct {
        uint64_t pair;
        enum relation is;
    } * known;                 /* PAIR_SLOTS of them */
    struct compared *compared; /* a set */
    uint32_t ncompared, cap_compared;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h = ((h ^ h >> 32) + b) * UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ h >> 29) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 32;
}

uint64_t diff_mix(uint64_t a, uint64_t b)
{
    return mix(a, b);
}

/* ---- two tests ---- */

struct seen {
    bool both, first_only;
};

static bool see(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len)
{
    struct seen *x = arg;
    (void)s;
    (void)len;
    x->both |= n == 2;
    x->first_only |= n == 1 && ids[0] == 0;
    return true;
}

static bool add_pattern(struct regex_set *set, const struct graph_test *t)
{
    OWN(buf) struct buf pattern = {0};
    uint32_t id;
    graph_test_regex(t, &pattern);
    return buf_ok(&pattern) && regex_set_add(set, pattern.s, pattern.n, &id, NULL) == 0;
}

/* By the automaton of both. */
static enum relation by_automaton(const struct graph_test *a, const struct graph_test *b, bool fold)
{
    OWN(arena) struct arena scratch;
    struct seen x = {0};
    arena_init(&scratch, 16 << 20);
    struct regex_set *set = regex_set_new(&scratch, fold, NULL);
    if (!set || !add_pattern(set, a) || !add_pattern(set, b) || regex_set_freeze(set, NULL) < 0 ||
        regex_explore(set, PAIR_STATES, see, &x) < 0)
        return OPEN;
    return !x.both ? EXCLUDES : !x.first_only ? IMPLIES : OPEN;
}

/* Case is that of ASCII, whatever the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool begins_with(const struct graph_test *a, const struct graph_test *b, bool fold)
{
    uint32_t i = 0, n = a->len >= b->len ? b->len : 0;
    while (i < n && (fold ? lower(a->str[i]) == lower(b->str[i]) : a->str[i] == b->str[i]))
        i++;
    return a->len >= b->len && i == n;
}

/* Whether everything that begins like the longer one is in the shorter one's folder. */
static bool goes_below(const struct graph_test *longer, const struct graph_test *shorter)
{
    return longer->len > shorter->len && longer->str[shorter->len] == '/';
}

static bool is_plain(const struct graph_test *t)
{
    return (t->how == GRAPH_LITERAL || t->how == GRAPH_PREFIX || t->how == GRAPH_SUBPATH) &&
           t->len && (t->len == 1 || t->str[t->len - 1] != '/') &&
           (t->how != GRAPH_SUBPATH || t->len > 1);
}

/* The same for two tests without a pattern, of which many policies have hundreds: literals,
 * prefixes and subpaths of which neither ends in a slash. */
static enum relation by_strings(const struct graph_test *a, const struct graph_test *b, bool fold)
{
    bool a_longer = begins_with(a, b, fold), b_longer = begins_with(b, a, fold);
    if (a_longer && b_longer) { /* the same text */
        bool within = a->how == b->how || a->how == GRAPH_LITERAL || b->how == GRAPH_PREFIX;
        return within ? IMPLIES : OPEN;
    }
    if (a_longer) {
        bool in = b->how == GRAPH_PREFIX || (b->how == GRAPH_SUBPATH && goes_below(a, b));
        return in ? IMPLIES : EXCLUDES;
    }
    bool may =
        b_longer && (a->how == GRAPH_PREFIX || (a->how == GRAPH_SUBPATH && goes_below(b, a)));
    return may ? OPEN : EXCLUDES;
}

static enum relation relation_of(struct differ *d, uint32_t a, uint32_t b)
{
    struct diff_related *r = d->related;
    const struct graph_test *x = d->tests.at[a], *y = d->tests.at[b];
    bool fold = d->tests.fold && vocab_filter_is_path(x->filter);
    uint64_t pair = ((uint64_t)a << 32 | b) + 1;
    if (is_plain(x) && is_plain(y))
        return by_strings(x, y, fold);
    uint32_t k = (uint32_t)mix(pair, 0) & (PAIR_SLOTS - 1);
    if (r->known[k].pair != pair) {
        r->known[k].pair = pair;
        r->known[k].is = by_automaton(x, y, fold);
    }
    return r->known[k].is;
}

/* ---- the walk ---- */

static uint32_t slot_of(const struct compared *set, uint32_t cap, uint64_t pair, uint64_t state)
{
    uint32_t k = (uint32_t)mix(pair, state) & (cap - 1);
    while (set[k].pair && (set[k].pair != pair || set[k].state != state))
        k = (k + 1) & (cap - 1);
    return k;
}

static bool room_for_pair(struct diff_related *r)
{
    uint32_t cap = r->cap_compared ? r->cap_compared * 2 : 1 << 12;
    if (r->ncompared * 2 < r->cap_compared)
        return true;
    struct compared *more = cap <= 2 * MAX_COMPARED ? calloc(cap, sizeof(*more)) : NULL;
    if (!more)
        return false;
    for (uint32_t i = 0; i < r->cap_compared; i++) {
        const struct compared *old = &r->compared[i];
        if (old->pair)
            more[slot_of(more, cap, old->pair, old->state)] = *old;
    }
    free(r->compared);
    r->compared = more;
    r->cap_compared = cap;
    return true;
}

/* Whether both nodes were compared under the same conditions. */
static bool was_compared(struct differ *d, uint32_t a, uint32_t b)
{
    struct diff_related *r = d->related;
    uint64_t pair = ((uint64_t)a << 32 | b) + 1;
    if (!room_for_pair(r)) {
        d->undecided = true;
        return true;
    }
    struct compared *c = &r->compared[slot_of(r->compared, r->cap_compared, pair, d->state)];
    if (c->pair)
        return true;
    *c = (struct compared){pair, d->state};
    r->ncompared++;
    return false;
}

bool diff_is_related(const struct differ *d, uint16_t filter)
{
    uint8_t arg = vocab_filters[filter].arg;
    return d->related && diff_is_single(filter) && (arg == ARG_PATH || arg == ARG_STRING);
}

/* Follows one result of a test, which is remembered if that helps. */
static void follow(struct differ *d, uint32_t test, bool holds, const uint32_t to[2],
                   unsigned depth)
{
    struct diff_related *r = d->related;
    uint64_t state = d->state;
    bool kept = r->n < MAX_HELD && (holds || !r->shared[test]);
    if (kept) {
        r->held[r->n].test = test;
        r->held[r->n++].holds = holds;
        d->state = mix(state, test * UINT64_C(2) + holds + 1);
    }
    diff_walk(d, to[0], to[1], depth + 1);
    d->state = state;
    r->n -= kept;
}

void diff_branch_related(struct differ *d, uint32_t test, const uint32_t to[2][2], unsigned depth)
{
    struct diff_related *r = d->related;
    const struct graph_test *t = d->tests.at[test];
    bool may[2] = {true, true};
    if (!graph_how_is_string(t->how)) {
        d->undecided = true;
        return;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t other = r->held[i].test;
        if (d->tests.at[other]->filter != t->filter)
            continue;
        if (!r->held[i].holds) {
            may[1] = may[1] && relation_of(d, test, other) != IMPLIES;
            continue;
        }
        enum relation is = relation_of(d, other, test);
        may[1] = may[1] && is != EXCLUDES;
        may[0] = may[0] && is != IMPLIES;
    }
    for (int holds = 0; holds < 2 && !d->undecided && !d->found; holds++)
        if (may[holds])
            follow(d, test, holds, to[holds], depth);
}

/* ---- a witness ---- */

struct wanted {
    struct differ *d;
    uint16_t filter;
    uint32_t ids, holding; /* patterns, and how many of them must hold: the first ones */
    bool found;
};

static bool try_string(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len)
{
    struct wanted *w = arg;
    if (n != w->holding || (n && ids[n - 1] != n - 1))
        return true;
    struct graph_fact *f = &w->d->strings[w->d->nstrings];
    *f = (struct graph_fact){.filter = w->filter, .len = (uint32_t)len};
    f->str = arena_strndup(&w->d->kinds, s, len);
    w->found = f->str != NULL;
    return false;
}

/* Makes a string of this filter for which the known tests have the known results. */
static bool make_string(struct differ *d, uint16_t filter)
{
    struct diff_related *r = d->related;
    OWN(arena) struct arena scratch;
    struct wanted w = {.d = d, .filter = filter};
    arena_init(&scratch, 64 << 20);
    struct regex_set *set =
        regex_set_new(&scratch, d->tests.fold && vocab_filter_is_path(filter), NULL);
    for (int holds = 1; holds >= 0; holds--)
        for (uint32_t i = 0; set && i < r->n; i++) {
            const struct graph_test *t = d->tests.at[r->held[i].test];
            if (t->filter != filter || r->held[i].holds != holds)
                continue;
            if (!add_pattern(set, t))
                return false;
            w.holding += (uint32_t)holds;
        }
    if (set && regex_set_freeze(set, NULL) == 0)
        regex_explore(set, WITNESS_STATES, try_string, &w);
    d->nstrings += w.found;
    return w.found;
}

void diff_related_witness(struct differ *d)
{
    struct diff_related *r = d->related;
    bool done[FILTER_COUNT] = {0}, made = true;
    d->nstrings = 0;
    for (uint32_t i = 0; i < r->n && made; i++) {
        uint16_t f = d->tests.at[r->held[i].test]->filter;
        made = done[f] || (d->nstrings < DIFF_STRINGS && make_string(d, f));
        done[f] = true;
    }
    if (made)
        diff_bear_witness(d, false);
    d->undecided = !d->found;
    d->nstrings = 0;
}

bool diff_related_seen(struct differ *d, uint32_t a, uint32_t b)
{
    return d->related && was_compared(d, a, b);
}

bool diff_related_begin(struct differ *d)
{
    struct diff_related *r = calloc(1, sizeof(*r));
    d->state =
        mix((uintptr_t)r, (uintptr_t)d); /* so that nobody can make conditions that collide */
    d->related = r;
    if (!r)
        return false;
    r->known = calloc(PAIR_SLOTS, sizeof(*r->known));
    r->shared = calloc(d->tests.n + 1u, sizeof(*r->shared));
    OWN(mem) bool *first = calloc(d->tests.n + 1u, sizeof(*first));
    for (uint32_t i = 0; first && i < d->g[0]->ntests; i++)
        first[d->tests.index[0][i]] = true;
    for (uint32_t i = 0; first && r->shared && i < d->g[1]->ntests; i++)
        r->shared[d->tests.index[1][i]] = first[d->tests.index[1][i]];
    return r->known && r->shared && first;
}

void diff_related_end(struct differ *d)
{
    if (d->related) {
        free(d->related->known);
        free(d->related->shared);
        free(d->related->compared);
    }
    free(d->related);
    d->related = NULL;
}
