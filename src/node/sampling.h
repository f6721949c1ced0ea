/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_SAMPLING_H
#define BK_NODE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * At most so many lines about operations in a second, for each container. Every line has the number
 * of denials so far, and a line that was left out is made good within a second by one that says how
 * many were. So whoever reads any line knows the exact total of that moment.
 */
struct sampling {
    uint64_t since;   /* ms: the start of this second */
    uint32_t printed; /* in it */
    uint64_t skipped; /* lines since the last that was printed */
};

/* Whether a line may be printed now; if not, it counts as skipped. most 0: always. */
bool sampling_take(struct sampling *s, uint64_t most, uint64_t now_ms);
/* Milliseconds until a line about skipped ones is due (0: now), or -1 if there are none. */
int sampling_due(const struct sampling *s, uint64_t now_ms);
/* Appends "denied":N and, if there are any, "skipped":N, which is 0 then. */
void sampling_members(struct sampling *s, uint64_t denied, struct buf *out);

#endif
