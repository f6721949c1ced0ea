/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A compressed byte trie over the literals, prefixes and subpaths of one filter, built once from
 * sorted keys. A node represents a range of keys that share a prefix. Its label is what the range's
 * first and last key share beyond the parent, and its children are the runs that differ in the next
 * byte. Siblings are contiguous, so finding a child means finding its number: up to eight by
 * comparing all first bytes at once in a 64-bit word, more by a table.
 *
 * One walk down a string finds every test that holds for it, in time that depends on the string,
 * not on the number of keys.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/graph-int.h"

enum { LABEL_WORD = sizeof(uint64_t) };

/* ---- building ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct trie_key *x = a, *y = b;
    uint32_t n = x->len < y->len ? x->len : y->len;
    int c = n ? memcmp(x->str, y->str, n) : 0;
    if (c)
        return c;
    return (x->len > y->len) - (x->len < y->len);
}

struct span {
    uint32_t lo, hi; /* keys */
    uint32_t depth;  /* bytes already matched */
};

struct trie_maker {
    const struct trie_key *keys;
    struct trie_node *nodes;
    struct span *spans; /* parallel to nodes */
    uint32_t nnodes;
    uint32_t nwide;
    char *text; /* next free byte of the labels */
    uint32_t used;
};

static uint32_t shared_prefix(const struct trie_key *a, const struct trie_key *b, uint32_t from)
{
    uint32_t n = a->len < b->len ? a->len : b->len, i = from;
    while (i < n && a->str[i] == b->str[i])
        i++;
    return i;
}

static void mark_ends(struct trie_node *n, const struct trie_key *key)
{
    n->marked = 1;
    if (key->how == GRAPH_LITERAL)
        n->literal = key->test;
    else if (key->how == GRAPH_PREFIX)
        n->prefix = key->test;
    else
        n->subpath = key->test;
}

/* Opens node number `at`: its label, the keys that end there, and a child for each next byte. */
static void open_node(struct trie_maker *m, uint32_t at)
{
    struct span s = m->spans[at];
    struct trie_node *n = &m->nodes[at];
    uint32_t upto = shared_prefix(&m->keys[s.lo], &m->keys[s.hi - 1], s.depth);
    n->literal = n->prefix = n->subpath = GRAPH_NONE;
    n->label = m->used;
    n->len = upto - s.depth;
    if (n->len)
        memcpy(m->text + m->used, m->keys[s.lo].str + s.depth, n->len);
    m->used += n->len;
    while (s.lo < s.hi && m->keys[s.lo].len == upto)
        mark_ends(n, &m->keys[s.lo++]);
    n->kid = m->nnodes;
    while (s.lo < s.hi) {
        unsigned char c = (unsigned char)m->keys[s.lo].str[upto];
        uint32_t end = s.lo + 1;
        while (end < s.hi && (unsigned char)m->keys[end].str[upto] == c)
            end++;
        m->spans[m->nnodes++] = (struct span){s.lo, end, upto};
        if (n->nkids < TRIE_NARROW)
            n->keys |= (uint64_t)c << (8 * n->nkids);
        n->nkids++;
        s.lo = end;
    }
    n->wide = n->nkids > TRIE_NARROW ? m->nwide++ : 0;
}

static void fill_wide(struct trie *t, uint32_t nnodes)
{
    for (uint32_t i = 0; i < nnodes; i++) {
        const struct trie_node *n = &t->nodes[i];
        for (uint16_t k = 0; n->nkids > TRIE_NARROW && k < n->nkids; k++) {
            const struct trie_node *kid = &t->nodes[n->kid + k];
            t->wide[n->wide][(unsigned char)t->text[kid->label]] = (uint16_t)(k + 1);
        }
    }
}

int trie_build(struct trie *t, struct arena *arena, struct trie_key *keys, size_t n, bool fold)
{
    if (n == 0)
        return 0;
    if (n > UINT32_MAX / 2)
        return -1;
    qsort(keys, n, sizeof(*keys), by_bytes);
    size_t text = LABEL_WORD; /* so that a whole word can be read at the start of every label */
    for (size_t i = 0; i < n; i++)
        text += keys[i].len;
    /* Every node ends a key or has two children, and a label is part of some key. */
    struct trie_maker m = {.keys = keys, .nnodes = 1};
    m.nodes = arena_array(arena, 2 * n, sizeof(*m.nodes));
    m.text = text < UINT32_MAX ? arena_alloc(arena, text) : NULL;
    m.spans = malloc(2 * n * sizeof(*m.spans));
    if (!m.nodes || !m.text || !m.spans) {
        free(m.spans);
        return -1;
    }
    m.spans[0] = (struct span){0, (uint32_t)n, 0};
    for (uint32_t at = 0; at < m.nnodes; at++)
        open_node(&m, at);
    free(m.spans);
    uint16_t(*wide)[256] = arena_array(arena, m.nwide, sizeof(*wide));
    if (!wide)
        return -1;
    *t = (struct trie){.nodes = m.nodes, .text = m.text, .wide = wide, .fold = fold};
    fill_wide(t, m.nnodes);
    return 0;
}

/* ---- walking ---- */

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

static bool label_fits_folded(const char *label, uint32_t len, const char *s)
{
    uint32_t i = 0;
    while (i < len && lower((unsigned char)s[i]) == (unsigned char)label[i])
        i++;
    return i == len;
}

static uint64_t word_at(const void *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

/* Compares eight bytes at a time where possible: a loop over bytes would end after a different
 * number of rounds for each label, which the branch predictor cannot foresee. Requires left, the
 * bytes at s, to be at least len. */
static bool label_fits(const char *label, uint32_t len, const char *s, size_t left)
{
    static const unsigned char first_bytes[2 * LABEL_WORD] = {255, 255, 255, 255,
                                                              255, 255, 255, 255};
    for (; len >= LABEL_WORD; len -= LABEL_WORD, left -= LABEL_WORD) {
        if (word_at(label) != word_at(s))
            return false;
        label += LABEL_WORD;
        s += LABEL_WORD;
    }
    if (left < LABEL_WORD)
        return memcmp(label, s, len) == 0;
    return ((word_at(label) ^ word_at(s)) & word_at(first_bytes + LABEL_WORD - len)) == 0;
}

/* The child whose label starts with c, or NULL. */
static const struct trie_node *child(const struct trie *t, const struct trie_node *n,
                                     unsigned char c)
{
    if (n->nkids > TRIE_NARROW) {
        uint16_t k = t->wide[n->wide][c];
        return k ? &t->nodes[n->kid + k - 1u] : NULL;
    }
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t diff = n->keys ^ (ones * c);
    uint64_t zero =
        (diff - ones) & ~diff & tops; /* the lowest bit set marks the first equal byte */
    if (!zero)
        return NULL;
    unsigned k = (unsigned)__builtin_ctzll(zero) / 8;
    return k < n->nkids ? &t->nodes[n->kid + k] : NULL;
}

static void add_ends(const struct trie_node *n, const char *s, size_t at, size_t len,
                     struct hits *hits)
{
    if (n->prefix != GRAPH_NONE)
        hits_add(hits, n->prefix);
    if (n->literal != GRAPH_NONE && at == len)
        hits_add(hits, n->literal);
    /* "/" is the only subpath that ends in the separator. */
    if (n->subpath != GRAPH_NONE && (at == len || s[at] == '/' || (at == 1 && s[0] == '/')))
        hits_add(hits, n->subpath);
}

void trie_match(const struct trie *t, const char *s, size_t n, struct hits *hits)
{
    const struct trie_node *at = t->nodes;
    size_t i = 0;
    while (at && at->len <= n - i) {
        const char *label = t->text + at->label;
        bool fits = t->fold ? label_fits_folded(label, at->len, s + i)
                            : label_fits(label, at->len, s + i, n - i);
        if (!fits)
            return;
        i += at->len;
        if (at->marked)
            add_ends(at, s, i, n, hits);
        if (i == n)
            return;
        unsigned char c = (unsigned char)s[i];
        at = child(t, at, t->fold ? lower(c) : c);
    }
}
