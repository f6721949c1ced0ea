/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reduced ordered binary decision diagrams: if two graphs decide alike for every outcome of their
 * tests, they have the same number. Policies are lists of rules, which make small diagrams: on the
 * way down it only matters which rule matched first.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/diff-int.h"

enum {
    FIRST_NODES = 1 << 12,
    CACHE = 1 << 16,
    MAX_DEPTH = 20000, /* variables above the one being inserted */
};

bool bdd_init(struct bdd *b)
{
    *b = (struct bdd){.cap = FIRST_NODES, .mask = 2 * FIRST_NODES - 1};
    b->nodes = malloc(sizeof(*b->nodes) * b->cap);
    b->slots = calloc(b->mask + 1u, sizeof(*b->slots));
    b->cache = malloc(sizeof(*b->cache) * CACHE);
    if (!b->nodes || !b->slots || !b->cache)
        return false;
    memset(b->cache, 0xff, sizeof(*b->cache) * CACHE);
    return true;
}

void bdd_free(struct bdd *b)
{
    free(b->nodes);
    free(b->slots);
    free(b->cache);
}

static uint32_t hash(uint32_t var, uint32_t hi, uint32_t lo)
{
    uint64_t h = (var ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ hi ^ h >> 31) * UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ lo ^ h >> 29) * UINT64_C(0x9fb21c651e98df25);
    return (uint32_t)(h >> 32);
}

/* Enters all nodes into a table. */
static void enter_all(const struct bdd *b, uint32_t *slots, uint32_t mask)
{
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t k = hash(b->nodes[i].var, b->nodes[i].hi, b->nodes[i].lo) & mask;
        while (slots[k])
            k = (k + 1) & mask;
        slots[k] = i + 1;
    }
}

static bool grow(struct bdd *b)
{
    uint32_t cap = b->cap * 2, mask = 2 * cap - 1;
    if (b->n < b->cap && b->n < b->limit)
        return true;
    struct bdd_node *nodes = b->n < b->limit ? realloc(b->nodes, sizeof(*nodes) * cap) : NULL;
    if (nodes)
        b->nodes = nodes;
    uint32_t *slots = nodes ? calloc(mask + 1u, sizeof(*slots)) : NULL;
    if (!slots) {
        b->exhausted = true;
        return false;
    }
    enter_all(b, slots, mask);
    free(b->slots);
    b->slots = slots;
    b->mask = mask;
    b->cap = cap;
    return true;
}

static uint32_t intern(struct bdd *b, uint32_t var, uint32_t hi, uint32_t lo)
{
    if (hi == BDD_NONE || lo == BDD_NONE || !grow(b))
        return BDD_NONE;
    uint32_t k = hash(var, hi, lo) & b->mask;
    for (uint32_t at; (at = b->slots[k]) != 0; k = (k + 1) & b->mask) {
        const struct bdd_node *n = &b->nodes[at - 1];
        if (n->var == var && n->hi == hi && n->lo == lo)
            return at - 1;
    }
    b->nodes[b->n] = (struct bdd_node){var, hi, lo};
    b->slots[k] = ++b->n;
    return b->n - 1;
}

void bdd_rewind(struct bdd *b, uint32_t n)
{
    b->n = n;
    memset(b->slots, 0, (b->mask + 1u) * sizeof(*b->slots));
    memset(b->cache, 0xff, sizeof(*b->cache) * CACHE);
    enter_all(b, b->slots, b->mask);
}

uint32_t bdd_leaf(struct bdd *b, uint32_t leaf)
{
    return intern(b, BDD_LEAF, leaf, 0);
}

static uint32_t make(struct bdd *b, uint32_t var, uint32_t hi, uint32_t lo)
{
    return hi == lo ? hi : intern(b, var, hi, lo);
}

static uint32_t below(const struct bdd *b, uint32_t node, uint32_t var, bool holds)
{
    const struct bdd_node *n = &b->nodes[node];
    return n->var != var ? node : holds ? n->hi : n->lo;
}

static uint32_t choose(struct bdd *b, uint32_t var, uint32_t hi, uint32_t lo, unsigned depth)
{
    if (hi == BDD_NONE || lo == BDD_NONE)
        return BDD_NONE;
    uint32_t h = b->nodes[hi].var, l = b->nodes[lo].var, first = h < l ? h : l;
    if (first >= var) /* BDD_LEAF is above all variables */
        return make(b, var, below(b, hi, var, true), below(b, lo, var, false));
    struct bdd_cached *known = &b->cache[hash(var, hi, lo) % CACHE];
    if (known->var == var && known->hi == hi && known->lo == lo)
        return known->is;
    if (depth > MAX_DEPTH || b->exhausted || ++b->steps > b->max_steps) {
        b->exhausted = true;
        return BDD_NONE;
    }
    uint32_t yes = choose(b, var, below(b, hi, first, true), below(b, lo, first, true), depth + 1);
    uint32_t no = choose(b, var, below(b, hi, first, false), below(b, lo, first, false), depth + 1);
    uint32_t is = yes == BDD_NONE || no == BDD_NONE ? BDD_NONE : make(b, first, yes, no);
    if (is != BDD_NONE)
        *known = (struct bdd_cached){var, hi, lo, is};
    return is;
}

uint32_t bdd_choose(struct bdd *b, uint32_t var, uint32_t hi, uint32_t lo)
{
    return choose(b, var, hi, lo, 0);
}
