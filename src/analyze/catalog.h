/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_CATALOG_H
#define BK_ANALYZE_CATALOG_H

#include "analyze/analyze.h"
#include "analyze/conditions.h"
#include "base/arena.h"
#include "graph/build.h"
#include "graph/eval.h"

/*
 * What a policy lets a process do, grouped by the questions people ask: may it read, write, reach,
 * run … It is exact: an operation is allowed if and only if one of the clauses of its entry holds.
 * What a process can do only with an extension is listed separately.
 */

enum catalog_family {
#define FAMILY(id, name, words) CATALOG_##id,
#define CAN(family, op)
#include "analyze/catalog.def"
#undef FAMILY
#undef CAN
    CATALOG_FAMILIES,
};

const char *catalog_family_name(enum catalog_family family);  /* "reach" */
const char *catalog_family_words(enum catalog_family family); /* "be reached at", after "may" */
enum catalog_family catalog_family_of(enum vocab_op op);

/* One of any (unless empty), all of all, and none of except. */
struct catalog_clause {
    enum allow_terms terms;
    bool extension; /* cannot hold without an extension */
    const struct graph_expr *const *any, *const *all, *const *except;
    uint32_t nany, nall, nexcept; /* any: tests only */
};

/* Operations of a family that are allowed alike. Without clauses they are denied. A clause without
 * conditions always holds and is the only one. */
struct catalog_entry {
    enum catalog_family family;
    const uint16_t *ops;
    uint32_t nops;
    const struct catalog_clause *clauses;
    uint32_t nclauses;
};

struct catalog {
    const struct catalog_entry *entries; /* by family; every operation once */
    uint32_t n;
    bool fold_case; /* paths ignore case */
};

/* Computes what all layers (at least one, the process's profile last) allow of the operations in
 * ops (OP_COUNT; NULL: all except those of message filters). Everything is in the arena and points
 * into the graphs. Fails if the conditions do not fit into bounded space. */
int catalog_make(const struct graph *const *layers, size_t nlayers, const bool *ops,
                 struct arena *arena, struct catalog *out, struct bk_err *err);

void catalog_print_text(const struct catalog *c, struct buf *out);
/* One object; name identifies the policy. */
void catalog_print_json(const struct catalog *c, const char *name, struct buf *out);

/* ---- comparing two ---- */

/* An argument on which two policies disagree, or why there is none to show. */
struct catalog_witness {
    uint16_t op;
    enum {
        CATALOG_SHOWN,
        CATALOG_TERMS,     /* the same is allowed, on other terms */
        CATALOG_UNDECIDED, /* no argument found, and no proof that there is none */
    } kind;
    bool allowed; /* by the first; the second decides the opposite */
    const struct graph_fact *facts;
    size_t nfacts;
};

/* Operations of a family that differ in the same way. */
struct catalog_change {
    enum catalog_family family;
    const uint16_t *ops;
    uint32_t nops;
    struct catalog_entry gone, added; /* clauses that only the first has, only the second */
    struct catalog_witness witness;
};

struct catalog_diff {
    const struct catalog_change *changes; /* by family; none: the same is allowed */
    uint32_t n;
};

/* Ignores modifiers that do not change what is allowed. Both graphs must treat case alike. */
int catalog_compare(const struct graph *a, const struct graph *b, const bool *ops,
                    struct arena *arena, struct catalog_diff *out, struct bk_err *err);

void catalog_diff_print_text(const struct catalog_diff *d, struct buf *out);
/* One object; names identify the policies. */
void catalog_diff_print_json(const struct catalog_diff *d, const char *const names[2],
                             struct buf *out);

/* How operations changed between two versions of the system, by family. */
void catalog_versions_print_text(enum vocab_os from, enum vocab_os to, struct buf *out);
void catalog_versions_print_json(enum vocab_os from, enum vocab_os to, struct buf *out);

#endif
