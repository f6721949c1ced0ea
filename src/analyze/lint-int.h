/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_LINT_INT_H
#define BK_ANALYZE_LINT_INT_H

#include "analyze/analyze.h"
#include "graph/eval.h"
#include "graph/graph-int.h"

/* Shared by the linter's files. */

/* A test or its negation, in one word. */
typedef uint32_t literal;

static inline literal literal_of(uint32_t test, bool negated)
{
    return test << 1 | negated;
}

static inline uint32_t literal_test(literal l)
{
    return l >> 1;
}

static inline bool literal_negated(literal l)
{
    return l & 1;
}

/* All of these hold. */
struct alternative {
    const literal *lits;
    uint32_t n;
};

/* One of these holds. unknown: too large to expand. */
struct alternatives {
    const struct alternative *at;
    uint32_t n;
    bool unknown;
};

/* The condition of a rule as alternatives, in the arena. */
struct alternatives lint_alternatives(const struct graph *g, uint32_t rule, struct arena *arena);

/* What a pattern implies about every string that it matches. */
enum shape { SHAPE_ANY, SHAPE_LITERAL, SHAPE_PREFIX, SHAPE_SUBPATH };

/* covers: the pattern matches all strings of that shape, not only some. */
struct pattern {
    enum shape shape;
    bool exact;
    const char *s;
    uint32_t n;
};

struct relations {
    const struct graph *g;
    struct graph_cache *cache; /* to check which tests hold for a literal */
    struct pattern *patterns;  /* by test; regexes are approximated */
    struct arena *arena;
};

int relations_init(struct relations *r, const struct graph *g, struct graph_cache *cache,
                   struct arena *arena);

/* Whether everything that satisfies test b satisfies test a. */
bool relations_covers(const struct relations *r, uint32_t a, uint32_t b);
/* Whether no operation satisfies both. */
bool relations_exclude(const struct relations *r, uint32_t a, uint32_t b);
/* Whether `outer` takes everything that `inner` takes. */
bool relations_alternative_covers(const struct relations *r, const struct alternative *outer,
                                  const struct alternative *inner);
/* Two literals of an alternative that exclude each other. */
bool relations_contradict(const struct relations *r, const struct alternative *a, literal *one,
                          literal *other);
/* Returns why nothing can satisfy this test, or NULL. */
const char *relations_impossible(const struct relations *r, uint32_t test);
/* Whether the test holds for every path. */
bool relations_every_path(const struct relations *r, uint32_t test);

#endif
