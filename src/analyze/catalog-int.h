/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_CATALOG_INT_H
#define BK_ANALYZE_CATALOG_INT_H

#include "analyze/catalog.h"

/* Private to the files of catalogs. */

/* What all layers allow. */
int catalog_conditions(const struct graph *const *layers, size_t n, struct arena *arena,
                       struct allow_conditions *out, struct bk_err *err);
/* The clauses of an entry, whose operations are given. */
int catalog_clauses(struct arena *arena, const struct graph_expr *const when[ALLOW_TERMS],
                    struct catalog_entry *entry, struct bk_err *err);

enum { CATALOG_NONE = 0xffffffffu };

/* Names of operations, from column col, and a line's end. An operation stands for those below it
 * when all are of its group; CATALOG_NONE: not told of at all. */
void catalog_print_ops(const uint32_t groups[OP_COUNT], const uint16_t *ops, uint32_t n, size_t col,
                       struct buf *out);
void catalog_print_clauses(const struct catalog_entry *e, int indent, struct buf *out);

/* `"operations": […]`, `"allowed": […], "with_extension": […]`. */
void catalog_ops_json(const uint16_t *ops, uint32_t n, struct buf *out);
void catalog_clauses_json(const struct catalog_entry *e, struct buf *out);
/* A family's object as far as its list of entries, behind *comma, which becomes one. */
void catalog_family_json(enum catalog_family family, const char **comma, struct buf *out);

#endif
