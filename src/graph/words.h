/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_WORDS_H
#define BK_GRAPH_WORDS_H

#include "base/buf.h"
#include "graph/graph.h"

/* Tests as SBPL: `(subpath "/usr")`, `(target self)`. */
void graph_test_print(const struct graph_test *t, struct buf *out);
/* As English: "the path is at or below /usr", or "… is not …". */
void graph_test_describe(const struct graph_test *t, bool holds, struct buf *out);
/* Only the value: "/usr and below", "what matches ^/dev/", "SIGKILL". */
void graph_test_briefly(const struct graph_test *t, struct buf *out);

/* Whether it is written as (require-entitlement "key" (entitlement-value …)). */
bool graph_test_is_keyed(const struct graph_test *t);
/* Whether it is a test for KEY=VALUE, or for a key whose value is #f. */
bool graph_test_is_keyed_value(const struct graph_test *t);
/* Appends KEY, and VALUE as a string or regex of its own, or nothing if it is #f. */
void graph_entitlement_split(const struct graph_test *t, struct buf *key, struct buf *value);

/* A string test as a regex that matches the same strings. */
void graph_test_regex(const struct graph_test *t, struct buf *out);
/* What the filter tests: "service name". */
const char *graph_filter_noun(uint16_t filter);

#endif
