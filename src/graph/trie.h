/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_TRIE_H
#define BK_GRAPH_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Private to src/graph: a byte trie over the strings of one filter (trie.c). */

enum { TRIE_NARROW = 8 }; /* children found by comparing one word */

struct trie_node {
    uint64_t keys;       /* first bytes of up to TRIE_NARROW children */
    uint32_t label, len; /* bytes on the way in: range of trie.text */
    uint32_t kid;        /* siblings are contiguous */
    uint16_t nkids;
    uint16_t marked; /* whether any of the three below is set */
    uint32_t wide;   /* with more than TRIE_NARROW children: which table of trie.wide */
    uint32_t literal, prefix, subpath; /* tests that end here */
};

struct trie {
    struct trie_node *nodes; /* NULL: nothing to find */
    const char *text;
    uint16_t (*wide)[256]; /* child number + 1 by byte */
    bool fold;
};

struct trie_key {
    const char *str;
    uint32_t len;
    uint32_t test;
    uint8_t how;
};

/* Sorts keys in place. Allocates from the arena. Returns -1 when that is exhausted. */
int trie_build(struct trie *t, struct arena *arena, struct trie_key *keys, size_t n, bool fold);

/* The tests that hold for a query; list has room for every test of the graph. */
struct hits {
    uint64_t *bits; /* by test */
    uint32_t *list;
    uint32_t n;
};

static inline void hits_add(struct hits *h, uint32_t test)
{
    uint64_t bit = (uint64_t)1 << (test & 63);
    uint64_t *word = &h->bits[test >> 6];
    if (*word & bit)
        return;
    *word |= bit;
    h->list[h->n++] = test;
}

static inline bool hits_has(const struct hits *h, uint32_t test)
{
    return h->bits[test >> 6] >> (test & 63) & 1;
}

void trie_match(const struct trie *t, const char *s, size_t n, struct hits *hits);

#endif
