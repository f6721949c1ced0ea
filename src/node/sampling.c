/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Counting comes before sampling: what is left out are lines, never denials. */

#include "node/sampling.h"

#include <inttypes.h>

enum { SECOND = 1000 };

bool sampling_take(struct sampling *s, uint64_t most, uint64_t now)
{
    if (now - s->since >= SECOND) {
        s->since = now;
        s->printed = 0;
    }
    if (most && s->printed >= most) {
        s->skipped++;
        return false;
    }
    s->printed++;
    return true;
}

int sampling_due(const struct sampling *s, uint64_t now)
{
    if (!s->skipped)
        return -1;
    return now - s->since >= SECOND ? 0 : (int)(SECOND - (now - s->since));
}

void sampling_members(struct sampling *s, uint64_t denied, struct buf *out)
{
    buf_fmt(out, "\"denied\":%" PRIu64, denied);
    if (s->skipped)
        buf_fmt(out, ",\"skipped\":%" PRIu64, s->skipped);
    s->skipped = 0;
}
