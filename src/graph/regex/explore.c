/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Enumerates every state of a set's automaton breadth first, so that the subject that leads to it
 * is as short as possible. States are identified by their nodes (dfa.h). Matching does not use this
 * file.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/regex/dfa.h"

struct seen {
    uint32_t parent, length; /* of the subject that leads here */
    unsigned char byte;
    struct dfa_record *record;
};

struct explorer {
    const struct regex_set *set;
    struct regex_cache *cache;
    struct seen *states;
    uint32_t n, max;
    uint32_t *slots, mask; /* state + 1 */
    uint32_t *ids;
    char *subject;
    unsigned char bytes[256]; /* one of each class, printable if possible */
    uint32_t nbytes;
};

static int rank(unsigned c)
{
    return c >= 'a' && c <= 'z' ? 0 : c > ' ' && c < 0x7f ? 1 : 2;
}

/* Strings contain no NUL, so a class of only NUL is left out. */
static void choose_bytes(struct explorer *x)
{
    for (uint32_t class = 0; class < x->set->nclasses; class ++) {
        unsigned best = 0;
        for (unsigned c = 1; c < 256; c++)
            if (x->set->class_off[c] / 4 == class && (!best || rank(c) < rank(best)))
                best = c;
        if (best)
            x->bytes[x->nbytes++] = (unsigned char)best;
    }
}

static uint32_t hash(const unsigned char *key, uint32_t n)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ key[i]) * 16777619u;
    return h;
}

/* Keeps the state that the cache has just made. Returns -1 when there are too many. */
static int keep_state(struct explorer *x, uint32_t parent, unsigned char byte, bool start)
{
    const struct regex_cache *c = x->cache;
    uint32_t h = hash(c->key, c->key_len), k = h & x->mask;
    for (; !start && x->slots[k]; k = (k + 1) & x->mask) {
        const struct dfa_record *r = x->states[x->slots[k] - 1].record;
        if (r->hash == h && r->len == c->key_len && memcmp(r->key, c->key, r->len) == 0)
            return 0;
    }
    struct dfa_record *r = x->n < x->max ? malloc(sizeof(*r) + c->key_len) : NULL;
    if (!r)
        return -1;
    r->hash = h;
    r->len = c->key_len;
    memcpy(r->key, c->key, r->len);
    x->states[x->n] = (struct seen){parent, start ? 0 : x->states[parent].length + 1, byte, r};
    x->n++;
    if (!start) /* the empty subject is at its beginning and its end, unlike any other */
        x->slots[k] = x->n;
    return 0;
}

static bool report_state(struct explorer *x, uint32_t state, regex_explore_fn *each, void *arg)
{
    uint32_t length = x->states[state].length;
    for (uint32_t s = state, i = length; i-- > 0; s = x->states[s].parent)
        x->subject[i] = (char)x->states[s].byte;
    uint32_t n = dfa_make_list(x->cache, state ? x->states[state].record : NULL, x->ids);
    return each(arg, x->ids, n, x->subject, length);
}

static int explore(struct explorer *x, regex_explore_fn *each, void *arg)
{
    dfa_make_start(x->cache);
    if (keep_state(x, 0, 0, true) < 0)
        return -1;
    for (uint32_t s = 0; s < x->n; s++) {
        if (!report_state(x, s, each, arg))
            return -1;
        for (uint32_t i = 0; i < x->nbytes; i++) {
            unsigned char sample = x->set->sample[x->set->class_off[x->bytes[i]] / 4];
            dfa_make_next(x->cache, x->states[s].record, sample);
            if (keep_state(x, s, x->bytes[i], false) < 0)
                return -1;
        }
    }
    return 0;
}

int regex_explore(const struct regex_set *set, uint32_t max_states, regex_explore_fn *each,
                  void *arg)
{
    struct explorer x = {.set = set, .max = max_states, .mask = 1};
    while (x.mask < 2 * max_states)
        x.mask = x.mask * 2 + 1;
    x.cache = regex_cache_new(set, 0);
    x.states = malloc(sizeof(*x.states) * max_states);
    x.slots = calloc((size_t)x.mask + 1, sizeof(*x.slots));
    x.ids = malloc(sizeof(*x.ids) * ((size_t)regex_set_count(set) + 1));
    x.subject = malloc((size_t)max_states + 1);
    int r = -1;
    if (x.cache && x.states && x.slots && x.ids && x.subject) {
        choose_bytes(&x);
        r = explore(&x, each, arg);
    }
    for (uint32_t i = 0; i < x.n; i++)
        free(x.states[i].record);
    free(x.subject);
    free(x.ids);
    free(x.slots);
    free(x.states);
    regex_cache_free(x.cache);
    return r;
}
