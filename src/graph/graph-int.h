/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_INT_H
#define BK_GRAPH_INT_H

#include <pthread.h>

#include "base/arena.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "graph/graph.h"
#include "graph/regex/regex.h"
#include "graph/trie.h"

/* Private to src/graph and src/analyze: the layout of a graph. */

enum { GRAPH_NONE = 0xffffffffu }; /* no test, no node, no chain */

/*
 * A flattened condition: one word per item, operands before operators, so that reading backwards
 * meets every operator before its operands and the last operand first.
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

/* The part of a rule that only the builder and the linter use. */
struct rule_body {
    uint32_t item, nitems;
    uint32_t mod, nmods;
    uint32_t flags;
    uint32_t decision;        /* its decision node once it has one */
    uint32_t list, with_list; /* while compiling: a list, and that list with the rule in front */
};

/* ---- all tests of one filter ---- */

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

/* An entry node. Many operations may share one. */
struct entry {
    uint32_t node;
    uint32_t uniform;             /* the decision if there is only one, else GRAPH_NONE */
    uint64_t need[FILTER_WORDS];  /* filters tested below */
    uint64_t regex[FILTER_WORDS]; /* those of them with regex tests */
};

/* A run of nodes linked by unmatch edges. Positions count from its end, because a run grows at its
 * head as nodes are made. */
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
    struct rule_body *bodies; /* parallel to rules */
    uint32_t *items;
    uint32_t nnodes, ntests, nmods, nrules, nitems;
    uint32_t *entry_nodes; /* OP_COUNT for the profile, OP_COUNT for each nested policy */
    uint32_t *entry_index; /* parallel to it: index into entries */
    struct entry *entries;
    uint32_t npolicies;
    struct note *notes;
    bool lent; /* all of this belongs to somebody else (pack.c) */

    /* for evaluation; built on first use if that cannot fail on the profile's account (match.c) */
    pthread_mutex_t lock;
    bool indexed;
    struct slot *slots;
    uint32_t nslots;
    uint8_t slot_of[FILTER_COUNT]; /* slot + 1, or 0 */
    struct chain *chains;
    uint32_t nchains;
    uint32_t *chain_nodes;
    struct place *place_of; /* by node */
    uint32_t *occurs_from;  /* by test, one extra: range of occurs */
    struct place *occurs;   /* ascending by chain, then position */
};

/* check.c: checks the promises of graph.h. */
int graph_check(const struct graph *g, struct bk_err *err);

/* match.c: slots and chains. */
bool graph_index_is_safe(const struct graph *g); /* fails only if memory is exhausted */
int graph_index(struct graph *g, struct bk_err *err);
void graph_forget_index(struct graph *g); /* of a copy, which builds one of its own */
/* Builds the index of a frozen graph once, in whichever thread is first. */
int graph_index_late(const struct graph *g);

bool graph_how_is_string(uint8_t how); /* LITERAL, PREFIX, SUBPATH, REGEX */
bool graph_same_decision(const struct graph *g, uint32_t a, uint32_t b);

/* eval.c */
const struct entry *graph_entry_of(const struct graph *g, const struct graph_query *q);

/* eval.c: whether test `a` of the same filter holds for the literal of test `b`. */
bool graph_literal_holds(const struct graph *g, struct graph_cache *cache, uint32_t a, uint32_t b);

#endif
