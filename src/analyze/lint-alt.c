/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A rule's condition as a list of alternatives, each a list of tests that must hold or fail. Read
 * forwards, a flattened condition is a program for a stack machine. Each value on the stack is a
 * condition both plain and negated, which makes NOT a swap. Conditions with too many alternatives
 * are unknown; unknown rules are neither reported nor used as evidence.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/lint-int.h"
#include "graph/build.h"

enum { MAX_ALTERNATIVES = 4096, MAX_LITERALS = 32, MAX_ITEMS = 100000 };

struct both {
    struct alternatives is, is_not;
};

static const struct alternatives unknown = {.unknown = true};

static struct alternatives single(literal l, struct arena *arena)
{
    literal *lit = arena_dup(arena, &l, sizeof(l));
    struct alternative a = {lit, 1};
    struct alternatives r = {arena_dup(arena, &a, sizeof(a)), 1, false};
    return lit && r.at ? r : unknown;
}

/* Operand i, plain or negated. */
static const struct alternatives *side(const struct both *v, bool negated)
{
    return negated ? &v->is_not : &v->is;
}

static struct alternatives either(const struct both *v, uint32_t n, bool negated,
                                  struct arena *arena)
{
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (side(&v[i], negated)->unknown)
            return unknown;
        total += side(&v[i], negated)->n;
    }
    if (total > MAX_ALTERNATIVES)
        return unknown;
    struct alternative *at = arena_array(arena, total, sizeof(*at));
    if (!at)
        return unknown;
    size_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct alternatives *a = side(&v[i], negated);
        if (a->n)
            memcpy(at + k, a->at, a->n * sizeof(*at));
        k += a->n;
    }
    return (struct alternatives){at, (uint32_t)total, false};
}

static struct alternatives product(const struct alternatives *a, const struct alternatives *b,
                                   struct arena *arena)
{
    if (a->unknown || b->unknown || (uint64_t)a->n * b->n > MAX_ALTERNATIVES)
        return unknown;
    struct alternative *at = arena_array(arena, (size_t)a->n * b->n, sizeof(*at));
    if (!at)
        return unknown;
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++) {
            uint32_t n = a->at[i].n + b->at[j].n;
            literal *lits = n <= MAX_LITERALS ? arena_array(arena, n, sizeof(*lits)) : NULL;
            if (!lits)
                return unknown;
            if (a->at[i].n)
                memcpy(lits, a->at[i].lits, a->at[i].n * sizeof(*lits));
            if (b->at[j].n)
                memcpy(lits + a->at[i].n, b->at[j].lits, b->at[j].n * sizeof(*lits));
            at[k++] = (struct alternative){lits, n};
        }
    return (struct alternatives){at, k, false};
}

static struct alternatives every(const struct both *v, uint32_t n, bool negated,
                                 struct arena *arena)
{
    static const struct alternative empty = {NULL, 0};
    struct alternatives r = {&empty, 1, false};
    for (uint32_t i = 0; i < n && !r.unknown; i++)
        r = product(&r, side(&v[i], negated), arena);
    return r;
}

static struct alternatives expand_items(const struct graph *g, const struct rule_body *body,
                                        struct both *stack, struct arena *arena)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < body->nitems; i++) {
        uint32_t item = g->items[body->item + i], n = item_value(item);
        struct both v;
        switch (item_kind(item)) {
        case GRAPH_TEST:
            v.is = single(literal_of(n, false), arena);
            v.is_not = single(literal_of(n, true), arena);
            stack[depth++] = v;
            break;
        case GRAPH_NOT:
            v = stack[depth - 1];
            stack[depth - 1] = (struct both){v.is_not, v.is};
            break;
        case GRAPH_ANY:
            depth -= n;
            v.is = either(stack + depth, n, false, arena);
            v.is_not = every(stack + depth, n, true, arena);
            stack[depth++] = v;
            break;
        case GRAPH_ALL:
            depth -= n;
            v.is = every(stack + depth, n, false, arena);
            v.is_not = either(stack + depth, n, true, arena);
            stack[depth++] = v;
            break;
        }
    }
    return stack[0].is;
}

struct alternatives lint_alternatives(const struct graph *g, uint32_t rule, struct arena *arena)
{
    const struct rule_body *body = &g->bodies[rule];
    static const struct alternative always = {NULL, 0};
    if (!g->rules[rule].filtered)
        return (struct alternatives){&always, 1, false};
    if (body->nitems == 0 || body->nitems > MAX_ITEMS)
        return unknown;
    struct both *stack = calloc(body->nitems, sizeof(*stack));
    if (!stack)
        return unknown;
    struct alternatives r = expand_items(g, body, stack, arena);
    free(stack);
    return r;
}
