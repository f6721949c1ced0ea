/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_RULE_PRINT_H
#define BK_CLI_PROFILE_RULE_PRINT_H

#include "base/buf.h"
#include "graph/graph.h"

/* The rule that decided, as `demo.sb:12: (deny file-write* …)`, or a description of the default or
 * implicit rule. */
void rule_text(const struct graph *g, uint32_t rule, struct buf *out);

/* The same as a JSON object: kind ("written", "implicit", "compiled", "default"), file, line,
 * column, text. */
void rule_json(const struct graph *g, uint32_t rule, struct buf *out);

#endif
