/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_METRICS_H
#define BK_NODE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "kernel/judge/call-book.h"

/* The agent's numbers, and their text in Prometheus' format. */

struct metrics {
    uint64_t denied, started, ended, refused, restarts, skipped, lost;
    uint64_t running;            /* containers, and processes that joined one, with a judge now */
    uint64_t spent_ns;           /* in judged calls */
    uint64_t took[BOOK_BUCKETS]; /* judged calls, by the power of two of microseconds */
};

/* Adds the calls of one judge, which may be at work. */
void metrics_add_book(struct metrics *m, const struct call_book *b);
/* Appends the text, format 0.0.4. */
void metrics_text(const struct metrics *m, struct buf *out);

#endif
