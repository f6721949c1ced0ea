/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Compares two graphs kind by kind. Both are put into one table of nodes, so that equal parts are
 * one node. The filter with the most tests is fixed to one kind of argument after the other, which
 * removes its tests; what remains is compared in the same way, for the next filter. Kinds that the
 * remaining tests do not tell apart are tried once, and no pair of nodes is compared twice. When
 * only tests are left that may hold together in any way, the rest becomes a diagram.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"
#include "base/own.h"

enum {
    MAX_NODES = 1 << 20,
    FIRST_NODES = 1 << 12,
    REST_NODES = 1 << 18, /* of the diagram of one rest */
    REST_STEPS = 1 << 21,
};

/* A node of the table: a test of both graphs, or a decision (test == BDD_LEAF, hi: its leaf). */
struct joint {
    uint32_t test, hi, lo;
    uint64_t uses[2]; /* filters of the tests below that have kinds: a bit set */
};

_Static_assert(FILTER_COUNT <= 128, "filters are a 128-bit set");

struct diff_joint {
    struct joint *nodes;
    uint32_t *map, *seen; /* by node: the result of one walk, and the last walk that reached it */
    uint32_t n, cap, stamp;
    uint32_t *slots, mask;
    uint32_t *stack, nstack, cap_stack;
    uint64_t (*equal)[1]; /* a set of pairs */
    uint32_t nequal, equal_mask;
};

static bool give_up(struct differ *d)
{
    d->undecided = true;
    return false;
}

static uint32_t hash3(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t h = (a ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ b ^ h >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ c ^ h >> 29) * UINT64_C(0x9fb21c651e98df25);
    return (uint32_t)(h >> 32);
}

/* ---- the table ---- */

static bool resize(void *array, size_t n, size_t size)
{
    void **p = array, *q = realloc(*p, n * size);
    if (q)
        *p = q;
    return q != NULL;
}

static bool table_room(struct differ *d)
{
    struct diff_joint *j = d->joint;
    if (j->n < j->cap)
        return true;
    uint32_t cap = j->cap ? j->cap * 2 : FIRST_NODES;
    if (cap > MAX_NODES * 2 || !resize(&j->nodes, cap, sizeof(*j->nodes)) ||
        !resize(&j->map, cap, sizeof(*j->map)) || !resize(&j->seen, cap, sizeof(*j->seen)))
        return give_up(d);
    memset(j->seen + j->cap, 0, (cap - j->cap) * sizeof(*j->seen));
    free(j->slots);
    j->slots = calloc(2 * (size_t)cap, sizeof(*j->slots));
    if (!j->slots)
        return give_up(d);
    j->mask = 2 * cap - 1;
    j->cap = cap;
    for (uint32_t i = 0; i < j->n; i++) {
        uint32_t k = hash3(j->nodes[i].test, j->nodes[i].hi, j->nodes[i].lo) & j->mask;
        while (j->slots[k])
            k = (k + 1) & j->mask;
        j->slots[k] = i + 1;
    }
    return true;
}

static uint32_t node_of(struct differ *d, uint32_t test, uint32_t hi, uint32_t lo)
{
    struct diff_joint *j = d->joint;
    if (test != BDD_LEAF && hi == lo)
        return hi;
    if (!table_room(d))
        return BDD_NONE;
    uint32_t k = hash3(test, hi, lo) & j->mask;
    for (uint32_t at; (at = j->slots[k]) != 0; k = (k + 1) & j->mask) {
        const struct joint *n = &j->nodes[at - 1];
        if (n->test == test && n->hi == hi && n->lo == lo)
            return at - 1;
    }
    struct joint n = {.test = test, .hi = hi, .lo = lo};
    if (test != BDD_LEAF) {
        uint16_t f = d->tests.at[test]->filter;
        for (int w = 0; w < 2; w++)
            n.uses[w] = j->nodes[hi].uses[w] | j->nodes[lo].uses[w];
        if (diff_is_single(f))
            n.uses[f / 64] |= UINT64_C(1) << f % 64;
    }
    j->nodes[j->n] = n;
    j->slots[k] = ++j->n;
    return j->n - 1;
}

static bool uses(const struct joint *n, uint16_t f)
{
    return n->uses[f / 64] >> f % 64 & 1;
}

/* ---- walks ---- */

static bool walk_begin(struct differ *d)
{
    struct diff_joint *j = d->joint;
    j->stamp++;
    j->nstack = 0;
    return d->followed <= d->max_followed || give_up(d);
}

static bool push(struct differ *d, uint32_t node)
{
    struct diff_joint *j = d->joint;
    if (j->nstack == j->cap_stack) {
        uint32_t cap = j->cap_stack ? j->cap_stack * 2 : 1024;
        if (!resize(&j->stack, cap, sizeof(*j->stack)))
            return give_up(d);
        j->cap_stack = cap;
    }
    j->stack[j->nstack++] = node;
    return true;
}

static void settle(struct diff_joint *j, uint32_t node, uint32_t is)
{
    j->seen[node] = j->stamp;
    j->map[node] = is;
    j->nstack--;
}

/* What remains of a node if the filter's argument is of that kind. */
static uint32_t fix(struct differ *d, uint32_t root, uint16_t filter, uint32_t kind)
{
    struct diff_joint *j = d->joint;
    if (!walk_begin(d) || !push(d, root))
        return BDD_NONE;
    while (j->nstack) {
        uint32_t at = j->stack[j->nstack - 1];
        const struct joint n = j->nodes[at];
        d->followed++;
        if (j->seen[at] == j->stamp) {
            j->nstack--;
        } else if (!uses(&n, filter)) {
            settle(j, at, at);
        } else if (d->tests.at[n.test]->filter == filter) {
            bool holds = d->tests.kinds_of[n.test][kind / 64] >> (kind % 64) & 1;
            uint32_t to = holds ? n.hi : n.lo;
            if (j->seen[to] == j->stamp)
                settle(j, at, j->map[to]);
            else if (!push(d, to))
                return BDD_NONE;
        } else if (j->seen[n.hi] != j->stamp || j->seen[n.lo] != j->stamp) {
            if (!push(d, j->seen[n.hi] != j->stamp ? n.hi : n.lo))
                return BDD_NONE;
        } else {
            uint32_t is = node_of(d, n.test, j->map[n.hi], j->map[n.lo]);
            if (is == BDD_NONE)
                return is;
            settle(j, at, is);
        }
    }
    return j->map[root];
}

/* The diagram of a node whose tests have no kinds. */
static uint32_t diagram_of(struct differ *d, uint32_t root)
{
    struct diff_joint *j = d->joint;
    if (!walk_begin(d) || !push(d, root))
        return BDD_NONE;
    while (j->nstack) {
        uint32_t at = j->stack[j->nstack - 1], is;
        const struct joint n = j->nodes[at];
        d->followed++;
        if (j->seen[at] == j->stamp) {
            j->nstack--;
            continue;
        }
        if (n.test == BDD_LEAF) {
            is = n.hi;
        } else if (j->seen[n.hi] != j->stamp || j->seen[n.lo] != j->stamp) {
            if (!push(d, j->seen[n.hi] != j->stamp ? n.hi : n.lo))
                return BDD_NONE;
            continue;
        } else {
            is = bdd_choose(&d->bdd, d->var_of[n.test], j->map[n.hi], j->map[n.lo]);
        }
        if (is == BDD_NONE)
            return is;
        settle(j, at, is);
    }
    return j->map[root];
}

/* Puts the part of a graph below a node into the table. */
static uint32_t enter(struct differ *d, int side, uint32_t entry)
{
    const struct graph *g = d->g[side];
    OWN(mem) uint32_t *made = malloc((entry + 1u) * sizeof(*made));
    OWN(mem) bool *wanted = calloc(entry + 1u, sizeof(*wanted));
    if (!made || !wanted)
        return BDD_NONE;
    wanted[entry] = true;
    for (uint32_t i = entry + 1; i-- > 0;)
        if (wanted[i] && g->nodes[i].kind == GRAPH_NODE_FILTER)
            wanted[g->nodes[i].match] = wanted[g->nodes[i].unmatch] = true;
    for (uint32_t i = 0; i <= entry; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (!wanted[i])
            continue;
        bool leaf = n->kind == GRAPH_NODE_DECISION;
        uint32_t is = leaf ? diff_leaf(d, side, n) : 0;
        if (is != BDD_NONE)
            is = leaf ? node_of(d, BDD_LEAF, is, 0)
                      : node_of(d, d->tests.index[side][n->test], made[n->match], made[n->unmatch]);
        if (is == BDD_NONE)
            return is;
        made[i] = is;
    }
    return made[entry];
}

/* ---- which filter, which kinds ---- */

/* Collects the distinct tests below both nodes; returns the filter with the most of them that have
 * kinds. */
static uint16_t busiest(struct differ *d, uint32_t a, uint32_t b, uint8_t *met)
{
    struct diff_joint *j = d->joint;
    uint32_t counts[FILTER_COUNT] = {0};
    uint16_t best = FILTER_NONE;
    if (!walk_begin(d) || !push(d, a) || !push(d, b))
        return FILTER_NONE;
    while (j->nstack) {
        uint32_t at = j->stack[--j->nstack];
        const struct joint *n = &j->nodes[at];
        d->followed++;
        if (j->seen[at] == j->stamp || !(n->uses[0] | n->uses[1]))
            continue;
        j->seen[at] = j->stamp;
        counts[d->tests.at[n->test]->filter] += !met[n->test];
        met[n->test] = 1;
        if (!push(d, n->hi) || !push(d, n->lo))
            return FILTER_NONE;
    }
    for (uint16_t f = 0; f < FILTER_COUNT; f++)
        if (counts[f] && diff_is_single(f) && (best == FILTER_NONE || counts[f] > counts[best]))
            best = f;
    return best;
}

/* Lists one kind for each combination of results of the tests that were met. */
static uint32_t list_kinds(struct differ *d, const struct dimension *dim, const uint8_t *met,
                           uint64_t *marks, uint32_t *kinds)
{
    uint32_t n = 0, size = 1;
    while (size < 2 * dim->n)
        size *= 2;
    OWN(mem) uint32_t *slots = calloc(size, sizeof(*slots));
    memset(marks, 0, dim->n * sizeof(*marks));
    uint64_t salt = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < dim->ntests; i++) {
        uint32_t test = dim->tests[i];
        if (!met[test])
            continue;
        salt = (salt ^ test) * UINT64_C(0xff51afd7ed558ccd) + 1;
        d->followed += dim->n / 64 + 1;
        for (uint32_t w = 0; w < (dim->n + 63) / 64; w++)
            for (uint64_t set = d->tests.kinds_of[test][w]; set; set &= set - 1)
                marks[w * 64 + (uint32_t)__builtin_ctzll(set)] += salt ^ salt >> 29;
    }
    for (uint32_t k = 0; slots && k < dim->n; k++) {
        uint32_t at = (uint32_t)(marks[k] ^ marks[k] >> 32) & (size - 1);
        while (slots[at] && marks[slots[at] - 1] != marks[k])
            at = (at + 1) & (size - 1);
        if (!slots[at]) {
            slots[at] = k + 1;
            kinds[n++] = k;
        }
    }
    return n;
}

/* ---- pairs ---- */

static bool *pair_of(struct differ *d, uint32_t a, uint32_t b, bool *known)
{
    static bool unused;
    struct diff_joint *j = d->joint;
    uint64_t key = ((uint64_t)a << 32 | b) + 1;
    if (j->nequal * 2 >= j->equal_mask + (j->equal_mask ? 1u : 0u)) {
        uint32_t size = j->equal_mask ? (j->equal_mask + 1) * 2 : 4096;
        uint64_t(*more)[1] = calloc(size, sizeof(*more));
        if (!more)
            return NULL;
        for (uint32_t i = 0; j->equal && i <= j->equal_mask; i++) {
            uint64_t old = j->equal[i][0];
            uint32_t k = hash3((uint32_t)old, (uint32_t)(old >> 32), 0) & (size - 1);
            while (old && more[k][0])
                k = (k + 1) & (size - 1);
            if (old)
                more[k][0] = old;
        }
        free(j->equal);
        j->equal = more;
        j->equal_mask = size - 1;
    }
    uint32_t k = hash3((uint32_t)key, (uint32_t)(key >> 32), 0) & j->equal_mask;
    while (j->equal[k][0] && j->equal[k][0] != key)
        k = (k + 1) & j->equal_mask;
    *known = j->equal[k][0] == key;
    if (!*known) {
        j->equal[k][0] = key;
        j->nequal++;
    }
    return &unused;
}

static void compare(struct differ *d, uint32_t a, uint32_t b);

static void compare_rest(struct differ *d, uint32_t a, uint32_t b)
{
    d->bdd.exhausted = false;
    d->bdd.limit = d->bdd.n + REST_NODES;
    d->bdd.max_steps = d->bdd.steps + REST_STEPS;
    uint32_t x = diagram_of(d, a), y = x == BDD_NONE ? x : diagram_of(d, b);
    d->steps = 0;
    if (y == BDD_NONE)
        d->undecided = true;
    else
        diff_walk(d, x, y, 0);
}

/* What is left when the comparison gives up: the outermost filter's kinds. */
static void note_region(struct differ *d, uint16_t filter, const struct kind *example,
                        uint32_t left, uint32_t of)
{
    d->out.region = filter;
    d->out.left = left;
    d->out.of = of;
    d->region = example;
}

/* Tries the kinds of a filter, one after the other. */
static void compare_kinds(struct differ *d, uint32_t a, uint32_t b, uint16_t filter,
                          const struct dimension *dim, const uint8_t *met)
{
    size_t words = (dim->n + 63) / 64, before = d->nsets;
    OWN(mem) uint64_t *marks = malloc((dim->n + 1u) * sizeof(*marks));
    OWN(mem) uint32_t *kinds = malloc((dim->n + 1u) * sizeof(*kinds));
    if (!marks || !kinds || d->nsets + words > d->cap_sets) {
        d->undecided = true;
        return;
    }
    uint64_t *set = d->sets + before;
    d->left[filter].used = true;
    d->left[filter].at = before;
    d->nsets += words;
    memset(set, 0, words * sizeof(*set));
    uint32_t n = list_kinds(d, dim, met, marks, kinds);
    uint32_t left = 0;
    for (uint32_t i = 0; i < n && !d->found; i++) {
        uint32_t k = kinds[i];
        if (d->followed > d->max_followed) {
            left += n - i;
            note_region(d, filter, &dim->kinds[k], left, n);
            break;
        }
        bool before_it = d->undecided;
        d->undecided = false;
        set[k / 64] = UINT64_C(1) << (k % 64);
        uint32_t x = fix(d, a, filter, k), y = x == BDD_NONE ? x : fix(d, b, filter, k);
        if (y == BDD_NONE)
            d->undecided = true;
        else
            compare(d, x, y);
        set[k / 64] = 0;
        if (d->undecided)
            note_region(d, filter, &dim->kinds[k], ++left, n);
        d->undecided |= before_it;
    }
    d->undecided = d->undecided || d->followed > d->max_followed;
    d->left[filter].used = false;
    d->nsets = before;
}

/* Each level fixes another filter, so that depth is bounded. */
static void compare(struct differ *d, uint32_t a, uint32_t b)
{
    bool known = false;
    if (a == b || d->found)
        return;
    if (!pair_of(d, a, b, &known)) {
        d->undecided = true;
        return;
    }
    if (known)
        return;
    OWN(mem) uint8_t *met = calloc(d->tests.n + 1u, 1);
    uint16_t filter = met ? busiest(d, a, b, met) : FILTER_NONE;
    if (!met || d->followed > d->max_followed) {
        d->undecided = true;
    } else if (filter == FILTER_NONE) {
        compare_rest(d, a, b);
    } else {
        const struct dimension *dim = diff_kinds(&d->tests, filter);
        if (dim)
            compare_kinds(d, a, b, filter, dim, met);
        else
            note_region(d, filter, NULL, 0, 0), d->undecided = true;
    }
}

void diff_joint_free(struct diff_joint *j)
{
    if (!j)
        return;
    free(j->nodes);
    free(j->map);
    free(j->seen);
    free(j->slots);
    free(j->stack);
    free(j->equal);
    free(j);
}

void diff_walk_kinds(struct differ *d, const uint32_t entry[2])
{
    diff_joint_free(d->joint);
    d->joint = calloc(1, sizeof(*d->joint));
    if (!d->joint) {
        d->undecided = true;
        return;
    }
    d->nsets = 0;
    d->bdd.limit = d->bdd.n + REST_NODES; /* for decisions */
    uint32_t a = enter(d, 0, entry[0]), b = a == BDD_NONE ? a : enter(d, 1, entry[1]);
    if (b == BDD_NONE)
        d->undecided = true;
    else
        compare(d, a, b);
}
