/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_EVAL_H
#define BK_GRAPH_EVAL_H

#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"

/* One fact about the operation: the path, the target, the user. Repeat facts that have several
 * values (extensions, attributes). A fact that is not given matches nothing. A network fact may
 * carry a string as well: the path of a NET_UNIX socket, else the host as the program named it
 * ("host:port"). Path, domain and protocol filters see that string without separate facts. */
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
 * allocates nothing. Returns NULL when memory is exhausted. The graph must outlive it. */
struct graph_cache;
struct graph_cache *graph_cache_new(const struct graph *g);
void graph_cache_free(struct graph_cache *c); /* NULL is fine */

/* Returns the same policy for case-insensitive file systems: string tests ignore case. Nodes and
 * rules keep the numbers of g, which must outlive it. NULL when memory is exhausted. */
struct graph *graph_folded(const struct graph *g);
void graph_folded_free(struct graph *f); /* NULL is fine */

/* Evaluates a query. If it has several facts for one filter, such as the names of a file, a test
 * holds when it holds for one of them. Never fails: an operation out of range is denied. */
struct graph_verdict graph_eval(const struct graph *g, struct graph_cache *cache,
                                const struct graph_query *q);

/* Like graph_eval(), but calls `step` for each test on the way, in order. */
typedef void graph_step_fn(void *arg, uint32_t node, bool matched);
struct graph_verdict graph_trace(const struct graph *g, struct graph_cache *cache,
                                 const struct graph_query *q, graph_step_fn *step, void *arg);

/* What a query can still become whose request is not known yet: tests of http-method, http-path and
 * http-query may go either way. */
struct graph_range {
    bool may_allow, may_deny;
    struct graph_verdict allow, deny; /* one of each, if it may */
};
struct graph_range graph_eval_before_request(const struct graph *g, struct graph_cache *cache,
                                             const struct graph_query *q, graph_step_fn *step,
                                             void *arg); /* step may be NULL */
bool graph_tests_requests(const struct graph *g);        /* else that is graph_eval() */

/* Turns `ARGUMENT key=value…` of a command line or a verdict row into facts. The first plain
 * argument feeds the operation's subject (a path, a name, an endpoint). A key is a filter's name
 * and may repeat; integers may be constants of that filter. facts must hold n + 1 entries;
 * strings point into args. */
int graph_facts_parse(enum vocab_op op, const char *const *args, size_t n, struct graph_fact *facts,
                      size_t *nfacts, struct bk_err *err);
/* An extension that the process holds, as a fact. */
struct graph_fact graph_extension_fact(const char *extension);
/* The facts that lift the protection of these classes (bits 1 << enum protected_class); returns how
 * many. facts has room for PROTECTED_CLASSES. */
size_t graph_class_facts(unsigned classes, struct graph_fact *facts);
/* Prints `path="/etc/hosts"`, for messages. */
void graph_fact_print(const struct graph_fact *f, struct buf *out);

#endif
