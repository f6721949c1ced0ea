/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_REGEX_NFA_H
#define BK_GRAPH_REGEX_NFA_H

#include "graph/regex/ast.h"
#include "graph/regex/regex.h"

/*
 * The automaton of a whole set. Patterns that begin alike share their beginning: the set is a tree
 * of items (an atom with its quantifiers), and a hub is a point between two items. Every node
 * belongs to the hub that its item leads to. Once all patterns behind a hub are decided, the hub's
 * nodes have nothing left to find.
 *
 * Node 0 means no node. Hub 0 is the root, where every pattern starts.
 */
enum nfa_kind {
    NFA_BYTE,  /* consumes the byte b, goes on to a */
    NFA_SET,   /* consumes a byte of set b, goes on to a */
    NFA_END,   /* goes on to a at the subject's end */
    NFA_BEGIN, /* goes on to a at the subject's start */
    NFA_SPLIT, /* goes on to a and to b, either may be 0 */
    NFA_MATCH, /* pattern a matches; b: the next match node of this pattern */
};

struct nfa_node {
    uint32_t a, b;
    uint32_t kind : 3;
    uint32_t implied : 1; /* reached from the root without ^: alive at every byte, so states omit
                           * it */
    uint32_t owner : 28;  /* hub */
};

enum { NFA_NODES_MAX = (1 << 28) - 1 };

/* A hub is identified by the item that leads to it: its text and the previous hub. */
struct nfa_hub {
    uint32_t node;   /* a split that leads to the items that follow */
    uint32_t parent; /* hub */
    uint32_t kids;   /* hubs and match nodes directly behind this one */
    uint32_t newest; /* the pattern of its newest match node, +1 */
    const char *text;
    uint32_t len;
};

struct regex_set {
    struct arena *arena;
    bool fold, frozen;
    struct byteset_pool pool;
    struct ast_parse parse;

    struct nfa_node *nodes;
    uint32_t nnodes, nodes_cap;
    struct nfa_hub *hubs;
    uint32_t nhubs, hubs_cap;
    uint32_t *index;    /* hash table of hubs, open addressing; the root is not in it */
    uint32_t index_cap; /* a power of two */
    uint32_t *matches;  /* a pattern's first match node, ascending by pattern index */
    uint32_t npatterns, matches_cap;

    struct nfa_frame *frames; /* scratch of nfa_emit() */
    uint32_t frames_cap;
    uint32_t *items; /* scratch of regex_set_add() */
    uint32_t items_cap;

    /* set by freezing */
    uint32_t *implied; /* the implied nodes */
    uint32_t nimplied;
    uint32_t nclasses;
    uint8_t sample[256];     /* a byte of each class */
    uint16_t class_off[256]; /* byte → its class's offset in a row of 32-bit cells */
};

/* Reserves room for this many more nodes, so that adding them cannot fail. Returns -1 when the
 * arena is exhausted. */
int nfa_reserve(struct regex_set *set, uint64_t more);
uint32_t nfa_node(struct regex_set *set, enum nfa_kind kind, uint32_t a, uint32_t b,
                  uint32_t owner);

/* Builds the tree node `item` so that it leads to `next`; returns its entry. */
uint32_t nfa_emit(struct regex_set *set, uint32_t item, uint32_t next, uint32_t owner);
int nfa_emit_reserve(struct regex_set *set);

/* Computes the fields of a frozen set. */
int nfa_finish(struct regex_set *set);

#endif
