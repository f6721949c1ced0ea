/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Matching. States are made when a subject first needs them and kept in the caller's cache; a
 * subject that meets only known states costs one dependent load per byte. Rows grow upwards and
 * records downwards in one area, so neither needs a size in advance and untouched pages stay
 * untouched. When they meet, everything except the current state is discarded. At worst each byte
 * makes one state, in time proportional to the automaton, so matching is always linear in the
 * subject.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/regex/dfa.h"

enum {
    RESERVED = 64,  /* so that no offset is 0; holds the empty list */
    EMPTY_LIST = 4, /* its offset */
    STATES_MIN = 4,
    /* By default the area grows with the set: large sets have more and larger states. A small set's
     * area stays below malloc()'s mmap threshold, so that a launch that checks ten paths does not
     * pay for a mapping. */
    BYTES_DEFAULT = 48 << 10,
    BYTES_DEFAULT_MAX = 16 << 20,
    BYTES_PER_NODE = 96,
    SLOTS_MIN = 64,
    BYTES_PER_SLOT = 256,
};
#define BYTES_MAX ((size_t)1 << 30)

#define unlikely(x) __builtin_expect(!!(x), 0)

static uint32_t *cell(const struct regex_cache *c, uint32_t off)
{
    return (uint32_t *)(void *)(c->area + off);
}

static uint32_t *list_cell(const struct regex_cache *c, uint32_t state)
{
    return cell(c, state + c->set->nclasses * 4);
}

static const struct dfa_record *record_of(const struct regex_cache *c, uint32_t state)
{
    return (const struct dfa_record *)(void *)cell(c, *cell(c, state + c->row_bytes - 4));
}

/* ---- the area ---- */

static void empty(struct regex_cache *c)
{
    if (c->nstates) /* else they are zero, and their pages may be untouched */
        memset(c->slots, 0, c->slots_cap * sizeof(*c->slots));
    memset(c->area, 0, RESERVED);
    c->rows_end = RESERVED;
    c->records_begin = c->area_bytes;
    c->nstates = 0;
    c->start = 0;
    c->empty_list = 0;
}

/* Allocates a record or a list; returns 0 unless `keep` more bytes would remain free after it. */
static uint32_t take_record(struct regex_cache *c, size_t bytes, size_t keep)
{
    bytes = (bytes + 3) & ~(size_t)3;
    if (c->records_begin - c->rows_end < bytes + keep)
        return 0;
    return c->records_begin -= (uint32_t)bytes;
}

static uint32_t hash_key(const unsigned char *key, uint32_t len)
{
    uint64_t h = len;
    uint32_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t w;
        memcpy(&w, key + i, 8);
        h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    for (; i < len; i++)
        h = (h ^ key[i]) * UINT64_C(0x100000001b3);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

/* Finds the slot of the state that key describes, or the free slot for it. */
static uint32_t *find_slot(struct regex_cache *c, uint32_t hash)
{
    uint32_t mask = c->slots_cap - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        if (!c->slots[i])
            return &c->slots[i];
        const struct dfa_record *rec = record_of(c, c->slots[i]);
        if (rec->hash == hash && rec->len == c->key_len &&
            memcmp(rec->key, c->key, c->key_len) == 0)
            return &c->slots[i];
    }
}

static int32_t name_of(uint32_t state, bool final)
{
    return final ? -(int32_t)state : (int32_t)state;
}

/* Finds or adds the state that key describes; 0 when there is no room. */
static int32_t intern(struct regex_cache *c)
{
    uint32_t hash = hash_key(c->key, c->key_len);
    uint32_t *slot = find_slot(c, hash);
    if (*slot)
        return name_of(*slot, c->key_final);
    if (c->nstates >= c->slots_cap / 4 * 3)
        return 0;
    uint32_t off = take_record(c, sizeof(struct dfa_record) + c->key_len, c->row_bytes);
    if (!off)
        return 0;
    struct dfa_record *rec = (struct dfa_record *)(void *)cell(c, off);
    *rec = (struct dfa_record){.hash = hash, .len = c->key_len};
    memcpy(rec->key, c->key, c->key_len);
    uint32_t state = c->rows_end;
    c->rows_end += c->row_bytes;
    memset(c->area + state, 0, c->row_bytes);
    *cell(c, state + c->row_bytes - 4) = off;
    *slot = state;
    c->nstates++;
    return name_of(state, c->key_final);
}

/* ---- the slow path: cells that are not filled yet ---- */

static int32_t make_start(struct regex_cache *c)
{
    dfa_make_start(c);
    int32_t state = intern(c);
    if (!state) {
        empty(c);
        state = intern(c);
    }
    c->start = state;
    return state;
}

static int32_t __attribute__((noinline))
make_next(struct regex_cache *c, uint32_t state, unsigned char byte)
{
    uint32_t off = c->set->class_off[byte];
    dfa_make_next(c, record_of(c, state), c->set->sample[off / 4]);
    int32_t next = intern(c);
    if (!next) {
        empty(c);
        return intern(c);
    }
    *cell(c, state + off) = (uint32_t)next;
    return next;
}

static uint32_t store_list(struct regex_cache *c, const uint32_t *ids, uint32_t n)
{
    if (n == 0)
        return EMPTY_LIST;
    uint32_t off = take_record(c, (n + 1) * sizeof(*ids), 0);
    if (!off)
        return 0;
    *cell(c, off) = n;
    memcpy(cell(c, off + 4), ids, n * sizeof(*ids));
    return off;
}

/* state 0: the empty subject. */
static uint32_t make_list(struct regex_cache *c, uint32_t state)
{
    uint32_t n = dfa_make_list(c, state ? record_of(c, state) : NULL, c->ids);
    uint32_t off = store_list(c, c->ids, n);
    if (!off) {
        empty(c);
        return store_list(c, c->ids, n);
    }
    if (state)
        *list_cell(c, state) = off;
    else
        c->empty_list = off;
    return off;
}

/* ---- the interface ---- */

/*
 * Returns the state after the subject, or the one where everything is decided. The column that a
 * byte selects does not depend on the state, so only the load itself waits for the previous byte:
 * its latency is the whole cost of a byte.
 */
static uint32_t walk(struct regex_cache *cache, const unsigned char *at, const unsigned char *end)
{
    int32_t start = cache->start ? cache->start : make_start(cache);
    if (start < 0)
        return (uint32_t)-start;
    size_t state = (size_t)start;
    for (; at < end; at++) {
        uint32_t next = *(const uint32_t *)(const void *)(cache->column[*at] + state);
        if (unlikely((int32_t)next <= 0)) {
            if (next == 0)
                next = (uint32_t)make_next(cache, (uint32_t)state, *at);
            if ((int32_t)next < 0)
                return -next;
        }
        state = next;
    }
    return (uint32_t)state;
}

size_t regex_match(const struct regex_set *set, struct regex_cache *cache, const char *s, size_t n,
                   const uint32_t **ids)
{
    (void)set; /* the cache has it */
    const unsigned char *at = (const unsigned char *)s;
    uint32_t last = n ? walk(cache, at, at + n) : 0;
    uint32_t list = n ? *list_cell(cache, last) : cache->empty_list;
    if (unlikely(!list))
        list = make_list(cache, last);
    *ids = cell(cache, list + 4);
    return *cell(cache, list);
}

static uint32_t power_of_two(size_t n)
{
    uint32_t p = SLOTS_MIN;
    while (p < n)
        p *= 2;
    return p;
}

static size_t area_size(const struct regex_set *set, size_t bytes)
{
    size_t row = ((size_t)set->nclasses + 2) * 4;
    size_t least = RESERVED +
                   STATES_MIN * (row + sizeof(struct dfa_record) + dfa_key_max(set) + 4) +
                   ((size_t)set->npatterns + 1) * 4;
    if (!bytes) {
        bytes = BYTES_DEFAULT + (size_t)set->nnodes * BYTES_PER_NODE;
        bytes = bytes < BYTES_DEFAULT_MAX ? bytes : BYTES_DEFAULT_MAX;
    }
    bytes = bytes > least ? bytes : least;
    return (bytes < BYTES_MAX || least > BYTES_MAX ? bytes : BYTES_MAX) & ~(size_t)3;
}

/* Sizes of the scratch memory for making a state, in one zeroed block, largest units first. */
struct tmpdir {
    size_t seen, words, slots, decided, touched, stack, ids, key;
};

static size_t scratch_bytes(const struct tmpdir *n)
{
    return (n->seen + n->words) * sizeof(uint64_t) +
           (n->slots + n->decided + n->touched + n->stack + n->ids) * sizeof(uint32_t) + n->key;
}

static void place_tmpdir(struct regex_cache *c, const struct tmpdir *n)
{
    c->seen = (uint64_t *)(void *)(c + 1);
    c->words = c->seen + n->seen;
    c->nwords = (uint32_t)n->words;
    c->slots = (uint32_t *)(void *)(c->words + n->words);
    c->slots_cap = (uint32_t)n->slots;
    c->decided = c->slots + n->slots;
    c->touched = c->decided + n->decided;
    c->stack = c->touched + n->touched;
    c->ids = c->stack + n->stack;
    c->key = (unsigned char *)(c->ids + n->ids);
}

struct regex_cache *regex_cache_new(const struct regex_set *set, size_t bytes)
{
    if (!set->frozen)
        return NULL;
    size_t area = area_size(set, bytes), nodes = set->nnodes;
    if (area > BYTES_MAX)
        return NULL;
    const struct tmpdir n = {
        .seen = nodes / 64 + 1,
        .words = nodes / 4096 + 1,
        .slots = power_of_two(area / BYTES_PER_SLOT),
        .decided = set->nhubs,
        .touched = set->nhubs,
        .stack = nodes,
        .ids = set->npatterns,
        .key = dfa_key_max(set),
    };
    struct regex_cache *c = calloc(1, sizeof(*c) + scratch_bytes(&n));
    /* Not zeroed: rows are cleared when they are allocated, so that unused pages stay untouched. */
    unsigned char *memory = malloc(area);
    if (!c || !memory) {
        free(c);
        free(memory);
        return NULL;
    }
    place_tmpdir(c, &n);
    c->set = set;
    c->area = memory;
    c->area_bytes = (uint32_t)area;
    c->row_bytes = (set->nclasses + 2) * 4;
    for (unsigned b = 0; b < 256; b++)
        c->column[b] = memory + set->class_off[b];
    empty(c);
    return c;
}

void regex_cache_free(struct regex_cache *cache)
{
    if (!cache)
        return;
    free(cache->area);
    free(cache);
}
