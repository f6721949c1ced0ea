/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_REGEX_DFA_H
#define BK_GRAPH_REGEX_DFA_H

#include "graph/regex/nfa.h"

/*
 * A thread's states, in one area:
 *
 *   | reserved | row row row …  →        free        ←  … record record list record |
 *
 * A row has one cell for each byte class, then the list cell, then the record cell. The byte offset
 * of its row identifies a state. A cell holds the next state: negative if everything is decided
 * there and the rest of the subject need not be read, 0 if not computed yet. The list cell leads to
 * the patterns that match if the subject ends here (0: not computed yet), the record cell to the
 * state's nodes.
 */
struct regex_cache {
    const struct regex_set *set;
    unsigned char *area;
    uint32_t area_bytes;
    uint32_t row_bytes;
    uint32_t rows_end, records_begin;
    int32_t start;       /* 0: not built */
    uint32_t empty_list; /* what the empty subject matches; 0: not built */
    uint32_t *slots;     /* hash table of states */
    uint32_t slots_cap;  /* a power of two */
    uint32_t nstates;
    const unsigned char *column[256]; /* byte → the area, shifted to its class's cell */

    /* scratch for making a state, in the same block as the cache */
    uint64_t *seen;  /* one bit a node … */
    uint64_t *words; /* … and one bit for each word of these */
    uint32_t nwords;
    uint32_t *stack;
    uint32_t depth;
    uint32_t *decided; /* per hub: how many of its kids are decided */
    uint32_t *touched; /* hubs whose count is not 0 */
    uint32_t ntouched;
    uint32_t *ids;      /* a list before it is stored */
    unsigned char *key; /* the new state, encoded */
    uint32_t key_len;
    bool key_final;
};

/* A state's nodes, ascending, as differences of 7 bits per byte. */
struct dfa_record {
    uint32_t hash;
    uint32_t len;
    unsigned char key[];
};

enum { DFA_AT_BEGIN = 1, DFA_AT_END = 2 };

/* Each makes the content of a state (dfa-state.c) in key, key_len and key_final. */
void dfa_make_start(struct regex_cache *c);
void dfa_make_next(struct regex_cache *c, const struct dfa_record *from, unsigned byte);

/* Stores the patterns that match if the subject ends, ascending, in ids, which has room for all,
 * and returns their count. from is NULL for the empty subject. */
uint32_t dfa_make_list(struct regex_cache *c, const struct dfa_record *from, uint32_t *ids);

/* The maximum size of a key. */
size_t dfa_key_max(const struct regex_set *set);

#endif
