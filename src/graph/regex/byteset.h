/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_REGEX_BYTESET_H
#define BK_GRAPH_REGEX_BYTESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A set of bytes. */
struct byteset {
    uint64_t w[4];
};

static inline bool byteset_has(const struct byteset *s, unsigned b)
{
    return s->w[b >> 6] >> (b & 63) & 1;
}

static inline void byteset_add(struct byteset *s, unsigned b)
{
    s->w[b >> 6] |= UINT64_C(1) << (b & 63);
}

static inline unsigned byteset_count(const struct byteset *s)
{
    unsigned n = 0;
    for (int i = 0; i < 4; i++)
        n += (unsigned)__builtin_popcountll(s->w[i]);
    return n;
}

void byteset_add_range(struct byteset *s, unsigned lo, unsigned hi);
void byteset_invert(struct byteset *s);

/* Ignores case: if the set has a letter of either case, it gets both. */
void byteset_fold(struct byteset *s);

/* Distinct byte sets, each stored once. Single bytes are not stored here. */
struct byteset_pool {
    struct arena *arena;
    struct byteset *sets;
    uint32_t *chain; /* next set in the same bucket, +1 */
    uint32_t n, cap;
    uint32_t bucket[256]; /* first set of a bucket, +1 */
};

/* Stores the index in *out. Returns -1 when the arena is exhausted. */
int byteset_intern(struct byteset_pool *pool, const struct byteset *s, uint32_t *out);

/* Removes the sets from index n on. */
void byteset_rollback(struct byteset_pool *pool, uint32_t n);

/*
 * Makes room for `need` elements in an array in an arena. Returns the array, or a larger copy of
 * its first `used` elements. Returns NULL when the arena is exhausted; the old array is then
 * intact.
 */
void *regex_grow(struct arena *arena, void *old, uint32_t used, uint32_t *cap, uint64_t need,
                 size_t size);

#endif
