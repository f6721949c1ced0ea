/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_GRAPH_H
#define BK_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/net.h"
#include "vocab/vocab.h"

/*
 * The policy graph: the waist of the program. Producers (SBPL, compiled profiles) hand rules to a
 * builder; freezing makes an immutable graph that consumers evaluate, print, encode, explain and
 * enforce. A graph is self-contained: it keeps no pointer into the texts it was made from.
 *
 *   entry[op] ──▶ filter node ──match──▶ … ──▶ decision (allow | deny, flags, modifiers, rule)
 *                     └──unmatch──▶ filter node …
 *
 * Nodes are hash-consed, so equal subgraphs are one. Every edge leads to a node with a smaller
 * index, which makes the graph acyclic by construction and easy to check after decoding.
 */

/* ---- what a filter node tests ---- */

enum graph_how {
    GRAPH_LITERAL, /* the whole string */
    GRAPH_PREFIX,  /* a leading string */
    GRAPH_SUBPATH, /* the string itself, or the string followed by '/' */
    GRAPH_REGEX,   /* somewhere in the string */
    GRAPH_INT,     /* the number */
    GRAPH_MODE,    /* any of these bits */
    GRAPH_NET,     /* an endpoint in a set of endpoints */
    GRAPH_DOMAIN,  /* a host name in a set of names */
    GRAPH_FLAG,    /* the attribute is present and true: filters without an argument */
};

struct graph_test {
    uint16_t filter; /* enum vocab_filter */
    uint8_t how;     /* enum graph_how */
    const char *str; /* LITERAL, PREFIX, SUBPATH, REGEX, DOMAIN; NUL-terminated as well */
    uint32_t len;
    int64_t num;             /* INT, MODE */
    struct net_endpoint net; /* NET */
};

/* ---- what producers hand over ---- */

enum graph_expr_kind { GRAPH_TEST, GRAPH_ANY, GRAPH_ALL, GRAPH_NOT };

/* A condition. (require-any) of nothing never holds, (require-all) of nothing always does. */
struct graph_expr {
    enum graph_expr_kind kind;
    uint32_t nkids;
    const struct graph_expr *const *kids; /* ANY, ALL; NOT has one */
    struct graph_test test;               /* TEST */
};

/* A modifier that carries a value; those that are only flags live in graph_rule.flags. */
struct graph_mod {
    uint16_t id; /* enum vocab_modifier */
    int64_t num; /* send-signal, errno; policy number for message-filter */
    const char *str;
};

/* Who wrote the text that a rule is in. */
enum rule_source {
    SOURCE_PROFILE, /* a profile, or any text that is none of these */
    SOURCE_SETTINGS,
    SOURCE_PRESET,
    SOURCE_FLAG,
    SOURCE_GRANT,   /* given to a command while it runs */
    SOURCE_MACHINE, /* the machine's policy and settings' ceilings, which end a policy */
    SOURCE_OWN,     /* Buckle's own rules, which end every policy (run/own-rules.h) */
};

/* Where a rule was written. Strings are copied. line 0: not written anywhere (implicit). */
struct graph_origin {
    const char *file;
    uint32_t line, col;
    uint32_t via_line; /* the top-level form that led here, when that is another line; else 0 */
    const char *text;  /* the rule as written, shortened; NULL when unknown */
    enum rule_source source;
};

struct graph_rule {
    const uint16_t *ops; /* enum vocab_op */
    size_t nops;
    bool allow;
    uint32_t flags; /* final decision bits, as modifiers left them: a producer starts from
                       VOCAB_FLAG_REPORT for deny, 0 for allow; bit 0 is the builder's business */
    const struct graph_mod *mods;
    size_t nmods;
    const struct graph_expr *when; /* NULL: unfiltered */
    struct graph_origin origin;
};

struct graph_options {
    int version;       /* (version N): 1, 2 or 3 */
    bool fold_case;    /* Apple lowercases paths and names; Linux does not */
    bool no_implicit;  /* NO_IMPLICIT_RULES */
    bool no_inference; /* (disable-syscall-inference) */
    bool no_inferred;  /* nor other rules that rules bring along: a system that is not known to */
    size_t max_bytes;  /* 0: default, 256 MiB */
    bool apart;        /* equal nodes that a producer gives are not made one: to be written again */
    bool checked;      /* regex_check() has seen every pattern */
    size_t reserve;    /* about as much memory as it will take */
};

struct graph;
struct graph_build;

struct graph_build *graph_build_new(const struct graph_options *opt, struct bk_err *err);
void graph_build_free(struct graph_build *b); /* NULL is fine */

/* Rules in source order. Everything is copied. Precedence is the builder's business:
 *  - a filtered rule goes in front of its operation's list, so the last one written wins;
 *  - an unfiltered rule replaces the list's tail;
 *  - a list without a tail of its own goes on to the parent operation's list. */
int graph_build_rule(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err);

/* A nested policy for (apply-message-filter …): rules added between begin and end belong to it.
 * The number that end stores goes into graph_mod.num of a MOD_MESSAGE_FILTER modifier. Nesting
 * does not nest further. */
int graph_build_policy_begin(struct graph_build *b, struct bk_err *err);
int graph_build_policy_end(struct graph_build *b, int64_t *policy, struct bk_err *err);

/*
 * For producers that have nodes already: compiled profiles. Nodes are made bottom up, so that every
 * edge leads to a node that exists; equal ones are one. A builder takes rules or nodes, not both:
 * once entries were given, what they name is the policy. Numbers of nodes are the builder's until
 * the graph is frozen.
 */
int graph_build_decision(struct graph_build *b, const struct graph_rule *rule, uint32_t *node,
                         struct bk_err *err); /* ops and when are not looked at */
int graph_build_filter(struct graph_build *b, const struct graph_test *test, uint32_t match,
                       uint32_t unmatch, uint32_t *node, struct bk_err *err);
/* Where every operation (OP_COUNT) of the profile, or of a nested policy, begins. Policies are
 * numbered by graph_build_policy_begin() and _end(); all of them must be given, in order. */
int graph_build_entries(struct graph_build *b, uint32_t policy, const uint32_t *entries,
                        struct bk_err *err);

/* Facts about the profile that are not rules: (debug …), (trace …). */
int graph_build_note(struct graph_build *b, const char *key, const char *value, struct bk_err *err);

/* Consumes the builder, also on failure. The graph has been checked. */
struct graph *graph_freeze(struct graph_build *b, struct bk_err *err);
void graph_free(struct graph *g); /* NULL is fine */

/* ---- reading a graph ---- */

enum graph_node_kind { GRAPH_NODE_FILTER, GRAPH_NODE_DECISION };

struct graph_node {
    uint8_t kind;  /* enum graph_node_kind */
    bool allow;    /* decision */
    uint32_t test; /* filter: index for graph_test_at() */
    uint32_t match, unmatch;
    uint32_t flags;       /* decision */
    uint32_t mods, nmods; /* decision: range for graph_mod_at() */
    uint32_t rule;        /* the rule behind this decision, or that this test belongs to */
};

enum { GRAPH_NO_RULE = 0xffffffffu };

struct graph_rule_info {
    struct graph_origin origin;
    bool allow;
    bool filtered;
    bool implicit;   /* signal to self and the like */
    bool inferred;   /* implicit, because of other rules for the same operation */
    bool is_default; /* stands for an operation's built-in tail, or for the missing default */
    bool compiled;   /* out of a compiled profile: origin.text says which node it was */
    const uint16_t *ops;
    uint32_t nops;
    uint32_t policy; /* 0: the profile itself; else the nested policy it belongs to */
};

const struct graph_options *graph_options_of(const struct graph *g);
uint32_t graph_node_count(const struct graph *g);
const struct graph_node *graph_node_at(const struct graph *g, uint32_t node);
const struct graph_test *graph_test_at(const struct graph *g, uint32_t test);
bool graph_test_same(const struct graph_test *a, const struct graph_test *b);
/* What a rule of the vocabulary that brings others along tests. */
struct graph_test graph_test_inferred(const struct vocab_inferred *rule);
uint32_t graph_test_count(const struct graph *g);
const struct graph_mod *graph_mod_at(const struct graph *g, uint32_t mod);
/* What (with message "…") of the rule says; NULL for nothing. */
const char *graph_rule_message(const struct graph *g, uint32_t rule);
uint32_t graph_rule_count(const struct graph *g);
const struct graph_rule_info *graph_rule_at(const struct graph *g, uint32_t rule);
/* Sets the words of a rule, which change nothing else. -1: no memory. */
int graph_rule_word(struct graph *g, uint32_t rule, const char *text);
uint32_t graph_entry(const struct graph *g, enum vocab_op op);
uint32_t graph_policy_count(const struct graph *g); /* nested policies, numbered from 1 */
uint32_t graph_policy_entry(const struct graph *g, uint32_t policy, enum vocab_op op);
const char *graph_note(const struct graph *g, const char *key); /* NULL when not set */

/* Whether op is decided alike for every argument: then *node is that decision. */
bool graph_uniform(const struct graph *g, enum vocab_op op, uint32_t *node);

/* ---- evaluating ---- */

/* One fact about the operation: the path, the target, the user. Multi-valued facts (extensions,
 * attributes) are given several times. Facts not given match nothing. A network fact may carry a
 * string as well: the path of a NET_UNIX socket, else the host that was asked for ("host:port");
 * path, domain and protocol filters see it without facts of their own. */
struct graph_fact {
    uint16_t filter; /* enum vocab_filter */
    const char *str; /* string facts; need not be NUL-terminated */
    uint32_t len;
    int64_t num;             /* integer, mode and flag facts */
    struct net_endpoint net; /* network facts */
};

struct graph_query {
    uint16_t op; /* enum vocab_op */
    const struct graph_fact *facts;
    size_t nfacts;
    uint32_t policy; /* 0, or a nested policy */
};

struct graph_verdict {
    bool allow;
    uint32_t flags;
    uint32_t node; /* the decision node */
    uint32_t rule;
};

/* What one thread needs to evaluate: DFA states, match lists. Sized once, so that a decision
 * allocates nothing. NULL when memory is short. The graph must outlive it. */
struct graph_cache;
struct graph_cache *graph_cache_new(const struct graph *g);
void graph_cache_free(struct graph_cache *c); /* NULL is fine */

/* The same policy for names that do not tell upper from lower case: texts are compared without
 * regard to it. Its nodes and rules have the numbers of g, which must outlive it. NULL when memory
 * is short. */
struct graph *graph_folded(const struct graph *g);
void graph_folded_free(struct graph *f); /* NULL is fine */

/* A query may have several facts of one filter, the names of a file for instance: a test holds when
 * it does for one of them. Never fails: an operation out of range is denied. */
struct graph_verdict graph_eval(const struct graph *g, struct graph_cache *cache,
                                const struct graph_query *q);

/* The same walk, node by node: called for each test that was made, in order. The verdict equals
 * graph_eval()'s. */
typedef void graph_step_fn(void *arg, uint32_t node, bool matched);
struct graph_verdict graph_trace(const struct graph *g, struct graph_cache *cache,
                                 const struct graph_query *q, graph_step_fn *step, void *arg);

/* Turns `ARGUMENT key=value…` of a command line or a verdict row into facts. The first plain
 * argument feeds the operation's subject (a path, a name, an endpoint); key is a filter's name,
 * `key=value` may repeat; ints accept constants of that filter. facts must hold n + 1 entries;
 * strings point into args. */
int graph_facts_parse(enum vocab_op op, const char *const *args, size_t n, struct graph_fact *facts,
                      size_t *nfacts, struct bk_err *err);
/* `path="/etc/hosts"`, for a person. */
void graph_fact_print(const struct graph_fact *f, struct buf *out);

/* ---- printing ---- */

/* `(subpath "/usr")`, `(target self)`: a test as SBPL. */
void graph_test_print(const struct graph_test *t, struct buf *out);
/* "the path is at or below /usr", or that it is not. */
void graph_test_says(const struct graph_test *t, bool holds, struct buf *out);
/* What it looks for, without saying where: "/usr and below", "what matches ^/dev/", "SIGKILL". */
void graph_test_briefly(const struct graph_test *t, struct buf *out);

/* A string test as a regex that matches the same strings. */
void graph_test_regex(const struct graph_test *t, struct buf *out);
/* "service name": what the filter looks at. */
const char *graph_filter_noun(uint16_t filter);

#endif
