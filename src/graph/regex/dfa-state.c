/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A DFA state is the set of live NFA nodes. They are collected in a bitmap, with a second bitmap of
 * its non-zero words on top, so that reading the set out sorts and clears it at once.
 *
 * Three things keep states few and small. A match node stays once it is reached and means that its
 * pattern is decided; nodes that only serve decided patterns are dropped. The root's nodes are
 * alive everywhere and therefore not stored. Nodes that consume nothing (splits, ^) are followed,
 * not stored.
 */

#include "graph/regex/dfa.h"

/* Returns whether it was already set. */
static bool mark(struct regex_cache *c, uint32_t node)
{
    uint64_t bit = UINT64_C(1) << (node & 63);
    uint64_t *w = &c->seen[node >> 6];
    if (*w & bit)
        return true;
    *w |= bit;
    c->words[node >> 12] |= UINT64_C(1) << (node >> 6 & 63);
    return false;
}

/* One more kid of the hub is decided. A hub is a decided kid once all its kids are. */
static void count_decided(struct regex_cache *c, uint32_t hub)
{
    const struct nfa_hub *hubs = c->set->hubs;
    for (;; hub = hubs[hub].parent) {
        if (c->decided[hub]++ == 0)
            c->touched[c->ntouched++] = hub;
        if (c->decided[hub] < hubs[hub].kids || hub == 0)
            return;
    }
}

/* A pattern is represented by its first match node, whichever one was reached. */
static void decide(struct regex_cache *c, uint32_t pattern)
{
    const struct nfa_node *nodes = c->set->nodes;
    uint32_t first = c->set->matches[pattern];
    if (mark(c, first))
        return;
    for (uint32_t m = first; m; m = nodes[m].b)
        count_decided(c, nodes[m].owner);
}

static bool is_decided(const struct regex_cache *c, const struct nfa_node *n)
{
    return c->decided[n->owner] == c->set->hubs[n->owner].kids;
}

static void visit_node(struct regex_cache *c, uint32_t node)
{
    if (!node)
        return;
    const struct nfa_node *n = &c->set->nodes[node];
    if (n->kind == NFA_MATCH)
        decide(c, n->a);
    else if (!mark(c, node) && n->kind >= NFA_END)
        c->stack[c->depth++] = node;
}

/* Adds a node and everything reachable from it without consuming a byte. */
static void enter(struct regex_cache *c, uint32_t node, int where)
{
    visit_node(c, node);
    while (c->depth) {
        const struct nfa_node *n = &c->set->nodes[c->stack[--c->depth]];
        if (n->kind == NFA_SPLIT) {
            visit_node(c, n->a);
            visit_node(c, n->b);
        } else if (where & (n->kind == NFA_END ? DFA_AT_END : DFA_AT_BEGIN)) {
            visit_node(c, n->a);
        }
    }
}

static void consume(struct regex_cache *c, const struct nfa_node *n, unsigned byte)
{
    if (n->kind == NFA_BYTE ? n->b == byte
                            : n->kind == NFA_SET && byteset_has(&c->set->pool.sets[n->b], byte))
        enter(c, n->a, 0);
}

/* ---- reading the bitmap out ---- */

struct reader {
    uint32_t summary; /* word of the upper bitmap */
    uint32_t word;    /* word of the lower bitmap being read */
    uint64_t bits;
};

/* Removes and returns the next node; 0 at the end. (Node 0 is never in the set.) */
static uint32_t take_node(struct regex_cache *c, struct reader *r)
{
    while (!r->bits) {
        while (r->summary < c->nwords && !c->words[r->summary])
            r->summary++;
        if (r->summary == c->nwords)
            return 0;
        uint64_t *upper = &c->words[r->summary];
        r->word = r->summary * 64 + (uint32_t)__builtin_ctzll(*upper);
        *upper &= *upper - 1;
        r->bits = c->seen[r->word];
        c->seen[r->word] = 0;
    }
    uint32_t node = r->word * 64 + (uint32_t)__builtin_ctzll(r->bits);
    r->bits &= r->bits - 1;
    return node;
}

static void forget_decided(struct regex_cache *c)
{
    while (c->ntouched)
        c->decided[c->touched[--c->ntouched]] = 0;
}

static void append(struct regex_cache *c, uint32_t difference)
{
    for (; difference >= 0x80; difference >>= 7)
        c->key[c->key_len++] = (unsigned char)(difference | 0x80);
    c->key[c->key_len++] = (unsigned char)difference;
}

/* Whether nothing can change any more: no node is alive, and none of the root's still has a
 * purpose. */
static bool all_decided(const struct regex_cache *c)
{
    for (uint32_t i = 0; i < c->set->nimplied; i++)
        if (!is_decided(c, &c->set->nodes[c->set->implied[i]]))
            return false;
    return true;
}

static void write_key(struct regex_cache *c)
{
    struct reader r = {0};
    uint32_t node, last = 0;
    bool alive = false;
    c->key_len = 0;
    while ((node = take_node(c, &r))) {
        const struct nfa_node *n = &c->set->nodes[node];
        if (n->kind != NFA_MATCH) {
            if (n->kind > NFA_END || n->implied || is_decided(c, n))
                continue;
            alive = true;
        }
        append(c, node - last);
        last = node;
    }
    c->key_final = !alive && all_decided(c);
    forget_decided(c);
}

/* Every difference takes a byte, plus one per full 7 bits; the differences add up to at most the
 * number of nodes. */
size_t dfa_key_max(const struct regex_set *set)
{
    return (size_t)set->nnodes + set->nnodes / 64 + 16;
}

struct key_reader {
    const unsigned char *at, *end;
    uint32_t node;
};

static struct key_reader key_reader(const struct dfa_record *rec)
{
    return (struct key_reader){rec->key, rec->key + rec->len, 0};
}

static bool key_next(struct key_reader *r)
{
    if (r->at == r->end)
        return false;
    uint32_t difference = 0;
    for (int shift = 0;; shift += 7) {
        difference |= (uint32_t)(*r->at & 0x7f) << shift;
        if (!(*r->at++ & 0x80))
            break;
    }
    r->node += difference;
    return true;
}

/* ---- the interface ---- */

void dfa_make_start(struct regex_cache *c)
{
    enter(c, c->set->hubs[0].node, DFA_AT_BEGIN);
    write_key(c);
}

void dfa_make_next(struct regex_cache *c, const struct dfa_record *from, unsigned byte)
{
    const struct regex_set *set = c->set;
    for (struct key_reader r = key_reader(from); key_next(&r);) {
        const struct nfa_node *n = &set->nodes[r.node];
        if (n->kind == NFA_MATCH)
            decide(c, n->a);
        else
            consume(c, n, byte);
    }
    for (uint32_t i = 0; i < set->nimplied; i++)
        consume(c, &set->nodes[set->implied[i]], byte);
    write_key(c);
}

static uint32_t take_patterns(struct regex_cache *c, uint32_t *ids)
{
    struct reader r = {0};
    uint32_t node, n = 0;
    while ((node = take_node(c, &r)))
        if (c->set->nodes[node].kind == NFA_MATCH)
            ids[n++] = c->set->nodes[node].a;
    forget_decided(c);
    return n;
}

uint32_t dfa_make_list(struct regex_cache *c, const struct dfa_record *from, uint32_t *ids)
{
    const struct regex_set *set = c->set;
    if (!from) {
        enter(c, set->hubs[0].node, DFA_AT_BEGIN | DFA_AT_END);
        return take_patterns(c, ids);
    }
    for (struct key_reader r = key_reader(from); key_next(&r);)
        enter(c, r.node, DFA_AT_END);
    for (uint32_t i = 0; i < set->nimplied; i++)
        enter(c, set->implied[i], DFA_AT_END);
    return take_patterns(c, ids);
}
