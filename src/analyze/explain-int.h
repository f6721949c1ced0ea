/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_EXPLAIN_INT_H
#define BK_ANALYZE_EXPLAIN_INT_H

#include "analyze/analyze.h"
#include "graph/eval.h"
#include "graph/graph-int.h"

/* What happened on the way to a decision, for the text and JSON writers. */

struct step {
    uint32_t node;
    bool matched;
};

/* The tests of one rule, as far as they were evaluated. */
struct trial {
    uint32_t rule;
    uint32_t first, n; /* range of story.steps */
    uint16_t op;       /* the operation whose list it was in */
    bool near;         /* some of its tests held */
};

struct story {
    const struct graph *g;
    const struct graph_query *q;
    struct graph_verdict verdict;
    struct step *steps;
    uint32_t nsteps, cap_steps;
    struct trial *trials;
    uint32_t ntrials, cap_trials;
    bool decided_by_trial; /* the last trial is the deciding rule's */
    uint16_t tail_op;      /* else: the operation whose list's end decided */
    bool failed;           /* out of memory */
};

void story_trace(struct story *s, const struct graph *g, struct graph_cache *cache,
                 const struct graph_query *q);
void story_free(struct story *s);

/* Calls `each` with every test that made the deciding rule apply. */
typedef void story_reason_fn(void *arg, const struct graph_test *t, bool holds);
void story_reasons(const struct story *s, story_reason_fn *each, void *arg);

/* Returns the test at which a tried rule failed. */
const struct step *story_failure(const struct story *s, const struct trial *t);

/* Prints a fact's value as on a command line. */
void story_fact_value(const struct graph_fact *f, struct buf *out);

/* Prints a rule as written, on one line, or reconstructed from its parts when the text is
 * unknown. */
void story_rule_text(const struct graph *g, uint32_t rule, struct buf *out);

#endif
