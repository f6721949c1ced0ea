/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Byte sets. A set of patterns repeats a few of them ([^/], ., [0-9]) hundreds of times, and
 * computing byte classes costs time per distinct set, so they are interned. Chains grow at their
 * head, so removing the newest sets means popping.
 */

#include "graph/regex/byteset.h"

#include <string.h>

enum { GROW_MIN = 32 };

void byteset_add_range(struct byteset *s, unsigned lo, unsigned hi)
{
    for (unsigned b = lo; b <= hi; b++)
        byteset_add(s, b);
}

void byteset_invert(struct byteset *s)
{
    for (int i = 0; i < 4; i++)
        s->w[i] = ~s->w[i];
}

void byteset_fold(struct byteset *s)
{
    for (unsigned lower = 'a'; lower <= 'z'; lower++) {
        unsigned upper = lower - 'a' + 'A';
        if (byteset_has(s, lower) || byteset_has(s, upper)) {
            byteset_add(s, lower);
            byteset_add(s, upper);
        }
    }
}

static unsigned bucket_of(const struct byteset *s)
{
    uint64_t h = 0;
    for (int i = 0; i < 4; i++)
        h = (h ^ s->w[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(h >> 56);
}

static int reserve_one(struct byteset_pool *pool)
{
    uint32_t cap = pool->cap;
    struct byteset *sets =
        regex_grow(pool->arena, pool->sets, pool->n, &cap, pool->n + 1, sizeof(*sets));
    if (!sets)
        return -1;
    uint32_t chain_cap = pool->cap;
    uint32_t *chain =
        regex_grow(pool->arena, pool->chain, pool->n, &chain_cap, pool->n + 1, sizeof(*chain));
    if (!chain)
        return -1;
    pool->sets = sets;
    pool->chain = chain;
    pool->cap = cap;
    return 0;
}

int byteset_intern(struct byteset_pool *pool, const struct byteset *s, uint32_t *out)
{
    unsigned b = bucket_of(s);
    for (uint32_t i = pool->bucket[b]; i; i = pool->chain[i - 1])
        if (memcmp(&pool->sets[i - 1], s, sizeof(*s)) == 0) {
            *out = i - 1;
            return 0;
        }
    if (reserve_one(pool) < 0)
        return -1;
    pool->sets[pool->n] = *s;
    pool->chain[pool->n] = pool->bucket[b];
    *out = pool->n++;
    pool->bucket[b] = pool->n;
    return 0;
}

void byteset_rollback(struct byteset_pool *pool, uint32_t n)
{
    while (pool->n > n) {
        pool->n--;
        pool->bucket[bucket_of(&pool->sets[pool->n])] = pool->chain[pool->n];
    }
}

void *regex_grow(struct arena *arena, void *old, uint32_t used, uint32_t *cap, uint64_t need,
                 size_t size)
{
    if (old && need <= *cap)
        return old;
    uint64_t want = *cap ? (uint64_t)*cap * 2 : GROW_MIN;
    if (want < need)
        want = need;
    if (want > UINT32_MAX)
        return NULL;
    void *p = arena_array(arena, (size_t)want, size);
    if (!p)
        return NULL;
    if (used)
        memcpy(p, old, used * size);
    *cap = (uint32_t)want;
    return p;
}
