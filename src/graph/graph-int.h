/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_INT_H
#define BK_GRAPH_INT_H

#include <pthread.h>

#include "base/arena.h"
#include "graph/graph.h"
#include "graph/regex/regex.h"

/* Private to src/graph: how a graph is laid out, and what its files share. */

enum { GRAPH_NONE = 0xffffffffu }; /* no test, no node, no chain */

/*
 * A rule's condition, flattened: one word an item, operands before operators, so that reading it
 * backwards meets every operator before its operands and the last operand first.
 */
enum { ITEM_KIND_SHIFT = 30, ITEM_VALUE = 0x3fffffff };

static inline enum graph_expr_kind item_kind(uint32_t item)
{
    return (enum graph_expr_kind)(item >> ITEM_KIND_SHIFT);
}

static inline uint32_t item_value(uint32_t item) /* a test, or the number of operands */
{
    return item & ITEM_VALUE;
}

/* The part of a rule that only the builder and the linter look at. */
struct rule_body {
    uint32_t item, nitems;
    uint32_t mod, nmods;
    uint32_t flags;
    uint32_t decision;        /* its decision node once it has one */
    uint32_t list, with_list; /* while compiling: a list, and that list with the rule in front */
};

/* ---- the byte trie ---- */

enum { TRIE_NARROW = 8 }; /* children found by comparing one word */

struct trie_node {
    uint64_t keys;       /* first bytes of up to TRIE_NARROW children */
    uint32_t label, len; /* bytes on the way in: range of trie.text */
    uint32_t kid;        /* children stand side by side */
    uint16_t nkids;
    uint16_t marked; /* whether any of the three below is set */
    uint32_t wide;   /* more children than TRIE_NARROW: which table of trie.wide */
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

/* keys are sorted in place. Everything is in the arena. Returns -1 when that is exhausted. */
int trie_build(struct trie *t, struct arena *arena, struct trie_key *keys, size_t n, bool fold);

/* The state of finding out which tests hold; list has room for every test of the graph. */
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

/* ---- everything that is known about one filter ---- */

struct int_test {
    int64_t num;
    uint32_t test;
};

struct domain_test {
    uint64_t key; /* net_domain_key() */
    uint32_t test;
};

struct slot {
    uint16_t filter;
    struct trie trie;
    struct regex_set *regexes; /* NULL: none */
    uint32_t *regex_tests;     /* by regex id */
    struct int_test *ints;     /* ascending */
    uint32_t nints;
    struct domain_test *domains; /* ascending by key */
    uint32_t ndomains;
    uint32_t *others; /* MODE, NET, FLAG */
    uint32_t nothers;
};

enum { FILTER_WORDS = (FILTER_COUNT + 63) / 64 };

/* A node where operations begin. Many share one. */
struct entry {
    uint32_t node;
    uint32_t uniform;             /* the decision when there is but one kind, else GRAPH_NONE */
    uint64_t need[FILTER_WORDS];  /* filters tested below */
    uint64_t regex[FILTER_WORDS]; /* those of them tested by regex */
};

/* A run of nodes linked by unmatch edges. Positions count from its end, because a run grows at its
 * head when nodes are made. */
struct chain {
    uint32_t first, len; /* range of graph.chain_nodes */
    uint32_t exit;       /* where the last node's unmatch edge leads */
};

struct place {
    uint32_t chain, pos;
};

struct note {
    const char *key, *value;
    struct note *next;
};

struct graph {
    struct arena arena;
    struct graph_options opt;
    struct graph_node *nodes;
    struct graph_test *tests;
    struct graph_mod *mods;
    struct graph_rule_info *rules;
    struct rule_body *bodies; /* beside rules */
    uint32_t *items;
    uint32_t nnodes, ntests, nmods, nrules, nitems;
    uint32_t *entry_nodes; /* OP_COUNT for the profile, OP_COUNT for each nested policy */
    uint32_t *entry_index; /* beside them: index of entries */
    struct entry *entries;
    uint32_t npolicies;
    struct note *notes;

    /* for evaluating; made when first needed where nothing can be wrong with it (match.c) */
    pthread_mutex_t lock;
    bool indexed;
    struct slot *slots;
    uint32_t nslots;
    uint8_t slot_of[FILTER_COUNT]; /* slot + 1, or 0 */
    struct chain *chains;
    uint32_t nchains;
    uint32_t *chain_nodes;
    struct place *place_of; /* by node */
    uint32_t *occurs_from;  /* by test, and one more: range of occurs */
    struct place *occurs;   /* ascending by chain, then position */
};

/* ---- while building ---- */

struct intern_table {
    uint32_t *slots; /* index + 1, or 0 */
    uint32_t mask, count;
};

struct graph_build {
    struct graph *g;
    size_t bytes; /* in arrays that grow, towards the same budget as the arena */
    uint32_t cap_nodes, cap_tests, cap_mods, cap_rules, cap_bodies, cap_items;
    struct intern_table test_table, node_table;
    uint64_t seed;
    uint32_t policy; /* the nested policy being written, or 0 */
    const char *last_file;
    uint64_t work;   /* items compiled so far */
    uint32_t *given; /* entries that a producer of nodes gave, OP_COUNT a policy, or NULL */
    uint32_t ngiven, cap_given;
};

/* Makes room for one more element. */
int build_room(struct graph_build *b, void *array, uint32_t *cap, uint32_t count, size_t size,
               struct bk_err *err);
int build_exhausted(struct graph_build *b, struct bk_err *err);

/* Index of an equal test, made when there is none. */
int intern_test(struct graph_build *b, const struct graph_test *t, uint32_t *test,
                struct bk_err *err);
/* A node whose edges are equal is that edge. */
int intern_node(struct graph_build *b, uint32_t test, uint32_t match, uint32_t unmatch,
                uint32_t rule, uint32_t *node, struct bk_err *err);
void intern_free(struct graph_build *b);

/* A rule that nobody wrote. */
int build_rule_add(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err);

/* build.c: rules that those that were written bring along. */
int build_infer(struct graph_build *b, struct bk_err *err);

/* nodes.c: the entries that were given become the graph's. */
int nodes_enter(struct graph_build *b, struct bk_err *err);

/* compile.c: rules → nodes and entries. */
int graph_compile(struct graph_build *b, struct bk_err *err);

/* check.c: the promises of graph.h hold. */
int graph_check(const struct graph *g, struct bk_err *err);

/* match.c: slots and chains. */
bool graph_index_is_safe(const struct graph *g); /* cannot fail but for want of memory */
int graph_index(struct graph *g, struct bk_err *err);
/* The same for a frozen graph, once, whoever comes first. */
int graph_index_late(const struct graph *g);

bool graph_how_is_string(uint8_t how); /* LITERAL, PREFIX, SUBPATH, REGEX */
bool graph_same_decision(const struct graph *g, uint32_t a, uint32_t b);

/* eval.c */
const struct entry *graph_entry_of(const struct graph *g, const struct graph_query *q);

/* eval.c: whether test `a` of the same filter holds for the literal of test `b`. */
bool graph_literal_holds(const struct graph *g, struct graph_cache *cache, uint32_t a, uint32_t b);

#endif
