/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_GRAPH_H
#define BK_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/net.h"
#include "vocab/implied.h"
#include "vocab/vocab.h"

/*
 * The policy graph: the waist of the program. Producers (SBPL, compiled profiles) pass rules to a
 * builder (build.h). Freezing yields an immutable graph that consumers evaluate (eval.h), print
 * (words.h), encode, explain and enforce. A graph keeps no pointer into the texts it came from.
 *
 *   entry[op] ──▶ filter node ──match──▶ … ──▶ decision (allow | deny, flags, modifiers, rule)
 *                     └──unmatch──▶ filter node …
 *
 * Nodes are hash-consed, so equal subgraphs are shared. Every edge leads to a node with a smaller
 * index, so the graph is acyclic by construction and easy to check after decoding.
 */

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

/* What a filter node tests. */
struct graph_test {
    uint16_t filter; /* enum vocab_filter */
    uint8_t how;     /* enum graph_how */
    const char *str; /* LITERAL, PREFIX, SUBPATH, REGEX, DOMAIN; NUL-terminated as well */
    uint32_t len;
    int64_t num;             /* INT, MODE */
    struct net_endpoint net; /* NET */
};

/* A modifier with a value; modifiers that are only flags are bits of the decision's flags. */
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
    SOURCE_GRANT,    /* given to a command while it runs */
    SOURCE_MACHINE,  /* the machine's policy and settings' ceilings, which end a policy */
    SOURCE_OWN,      /* Buckle's own rules, which end every policy (run/own-rules.h) */
    SOURCE_PLATFORM, /* a platform profile around it (run/run-stack.c) */
    SOURCE_COMMAND,  /* a profile that settings name for a command */
};

/* Where a rule was written. Strings are copied. line 0: not written anywhere (implicit). */
struct graph_origin {
    const char *file;
    uint32_t line, col;
    uint32_t via_line; /* the top-level form that led here, if that is another line; else 0 */
    const char *text;  /* the rule as written, shortened; NULL when unknown */
    enum rule_source source;
    const char *raw; /* the same with its comments, of texts that settings and presets became, whose
                        comments name the user's files; else NULL */
};

struct graph_options {
    int version;       /* (version N): 1, 2 or 3 */
    bool fold_case;    /* macOS ignores case in paths; Linux does not */
    bool no_implicit;  /* NO_IMPLICIT_RULES */
    bool no_inference; /* (disable-syscall-inference) */
    bool no_inferred;  /* no inferred rules at all: for systems not known to add them */
    size_t max_bytes;  /* 0: default, 256 MiB */
    bool apart;        /* keep equal nodes of the producer separate, to encode them again */
    bool checked;      /* regex_check() has accepted every pattern */
    size_t reserve;    /* estimate of the memory it will take */
    unsigned lifted; /* set of protected classes whose extension always holds, so that they are not
                        protected (vocab/protected-classes.h) */
    unsigned kept;   /* … and of those whose extension never holds, whatever is granted */
    /* Patterns of commands whose consent always holds. The builder needs them, the graph does
     * not. */
    const char *const *agreed;
    size_t nagreed;
};
enum { GRAPH_AGREED = 256 };

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
    bool is_default; /* represents an operation's built-in tail, or the missing default */
    bool compiled;   /* from a compiled profile: origin.text names the node */
    const uint16_t *ops;
    uint32_t nops;
    uint32_t policy; /* 0: the profile itself; else the nested policy it belongs to */
};

struct graph;
struct arena;
void graph_free(struct graph *g); /* NULL is fine */

/* Copies a graph with everything that it refers to into an arena; NULL if that is too small. */
const struct graph *graph_pack(const struct graph *g, struct arena *into);
/* A graph that uses such a copy, which has to outlive it and may be read-only. */
struct graph *graph_unpack(const struct graph *packed);

const struct graph_options *graph_options_of(const struct graph *g);
uint32_t graph_node_count(const struct graph *g);
const struct graph_node *graph_node_at(const struct graph *g, uint32_t node);
const struct graph_test *graph_test_at(const struct graph *g, uint32_t test);
bool graph_test_same(const struct graph_test *a, const struct graph_test *b);
/* Returns the test of an inferred rule of the vocabulary. */
struct graph_test graph_test_inferred(const struct vocab_inferred *rule);
uint32_t graph_test_count(const struct graph *g);
/* Whether it is about an HTTP request, which is not known when a connection starts. */
static inline bool graph_test_is_of_request(const struct graph_test *t)
{
    return t->filter == FILTER_HTTP_METHOD || t->filter == FILTER_HTTP_PATH ||
           t->filter == FILTER_HTTP_QUERY;
}
const struct graph_mod *graph_mod_at(const struct graph *g, uint32_t mod);
/* Returns the rule's (with message "…"); NULL when it has none. */
const char *graph_rule_message(const struct graph *g, uint32_t rule);
/* Whether a decision denies a protected name, by a rule of Buckle's own. */
bool graph_denies_protected(const struct graph *g, const struct graph_node *decision);
uint32_t graph_rule_count(const struct graph *g);
const struct graph_rule_info *graph_rule_at(const struct graph *g, uint32_t rule);
/* Replaces the text of a rule, and nothing else. Returns -1 when memory is exhausted. */
int graph_rule_set_raw(struct graph *g, uint32_t rule, const char *raw, size_t n);
int graph_rule_set_text(struct graph *g, uint32_t rule, const char *text);
void graph_set_source(struct graph *g, enum rule_source source); /* of all rules */
uint32_t graph_entry(const struct graph *g, enum vocab_op op);
uint32_t graph_policy_count(const struct graph *g); /* nested policies, numbered from 1 */
uint32_t graph_policy_entry(const struct graph *g, uint32_t policy, enum vocab_op op);
const char *graph_note(const struct graph *g, const char *key); /* NULL when not set */
/* The note "trace" of a policy that reports what files, programs and hosts are used (uses.c). */
#define GRAPH_TRACE_USES "buckle:uses"

/* Whether op has the same decision for every argument; if so, *node is that decision. */
bool graph_uniform(const struct graph *g, enum vocab_op op, uint32_t *node);

#endif
