/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_CATALOG_INT_H
#define BK_ANALYZE_CATALOG_INT_H

#include "analyze/catalog.h"
#include "graph/build.h"

/* Private to the files of catalogs. */

/* Computes what all layers allow. */
int catalog_conditions(const struct graph *const *layers, size_t n, struct arena *arena,
                       struct allow_conditions *out, struct bk_err *err);
/* Computes the clauses of an entry, whose operations are given. */
int catalog_clauses(struct arena *arena, const struct graph_expr *const when[ALLOW_TERMS],
                    struct catalog_entry *entry, struct bk_err *err);

enum { CATALOG_NONE = 0xffffffffu };

/* Prints names of operations, from column col, and a newline. An operation represents those below
 * it when all are in its group; CATALOG_NONE: not listed at all. */
void catalog_print_ops(const uint32_t groups[OP_COUNT], const uint16_t *ops, uint32_t n, size_t col,
                       struct buf *out);
void catalog_print_clauses(const struct catalog_entry *e, int indent, struct buf *out);

/* `"operations": […]`, `"allowed": […], "with_extension": […]`. */
void catalog_ops_json(const uint16_t *ops, uint32_t n, struct buf *out);
void catalog_clauses_json(const struct catalog_entry *e, struct buf *out);
/* Prints a family's object up to its list of entries, after *comma, which becomes ",". */
void catalog_family_json(enum catalog_family family, const char **comma, struct buf *out);

#endif
