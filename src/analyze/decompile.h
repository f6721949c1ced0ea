/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ANALYZE_DECOMPILE_H
#define BK_ANALYZE_DECOMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"

/*
 * Policy graph → SBPL. Compiling the text gives a graph that decides alike, for every operation
 * that the graph's system has and with the same treatment of case. Fails if the conditions would
 * multiply as formulas, or if the language cannot express a test; the error names the operation or
 * the test.
 */
struct decompile_options {
    const bool *ops;    /* OP_COUNT: operations that the target system has; NULL: all */
    const char *origin; /* source for the comment at the top; NULL: none */
    size_t max_text;    /* bytes of text; 0: 64 MiB */
};

int sbpl_decompile(const struct graph *g, const struct decompile_options *opt, struct buf *out,
                   struct bk_err *err);

#endif
