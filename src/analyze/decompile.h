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
 * Policy graph → SBPL. Compiling the text gives a graph that decides alike, in every operation that
 * the graph's system has and with the graph's own regard for case. A graph whose conditions would
 * multiply when written as formulas is refused, and so is a test that the language cannot say; the
 * error names the operation or the test.
 */
struct decompile_options {
    const bool *ops;    /* OP_COUNT: operations that the system it was made for has; NULL: all */
    const char *origin; /* where it came from, for the comment at the top; NULL: not said */
    size_t max_text;    /* bytes of text; 0: 64 MiB */
};

int sbpl_decompile(const struct graph *g, const struct decompile_options *opt, struct buf *out,
                   struct bk_err *err);

#endif
