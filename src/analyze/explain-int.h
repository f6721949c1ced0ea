/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_EXPLAIN_INT_H
#define BK_ANALYZE_EXPLAIN_INT_H

#include "analyze/analyze.h"
#include "graph/graph-int.h"

/* What happened on the way to a decision, for those who tell it. */

struct step {
    uint32_t node;
    bool matched;
};

/* The tests of one rule, as far as they were made. */
struct trial {
    uint32_t rule;
    uint32_t first, n; /* range of story.steps */
    uint16_t op;       /* whose list it was in */
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

void story_tell(struct story *s, const struct graph *g, struct graph_cache *cache,
                const struct graph_query *q);
void story_free(struct story *s);

/* Why the deciding rule applies: calls `each` with every test that mattered. */
typedef void story_reason_fn(void *arg, const struct graph_test *t, bool holds);
void story_reasons(const struct story *s, story_reason_fn *each, void *arg);

/* The test at which a rule that was tried gave up. */
const struct step *story_failure(const struct story *s, const struct trial *t);

/* A fact's value as it would be written on a command line. */
void story_fact_value(const struct graph_fact *f, struct buf *out);

/* A rule as written, on one line; made up from its parts when the text is unknown. */
void story_rule_text(const struct graph *g, uint32_t rule, struct buf *out);

#endif
