/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CAPTURE_H
#define BK_AGENT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * What a command prints, within bounds: the beginning and the end are kept, what lies between is
 * counted. A gigabyte costs no more memory than the limit.
 */
struct capture {
    size_t limit; /* bytes kept; half for the beginning, half for the end */
    struct buf head;
    char *tail; /* a ring, made when it is needed */
    uint64_t total, shown;
};

void capture_init(struct capture *c, size_t limit);
void capture_free(struct capture *c);
void capture_add(struct capture *c, const char *s, size_t n);
/* All of it, with a line where something was left out; always valid UTF-8. */
void capture_text(const struct capture *c, struct buf *out);
/* What came since this was called last. */
void capture_news(struct capture *c, struct buf *out);

#endif
