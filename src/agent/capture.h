/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CAPTURE_H
#define BK_AGENT_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A command's output within a limit. Keeps the start and the end and counts the bytes between them.
 */
struct capture {
    size_t limit; /* bytes to keep, half for the start and half for the end */
    struct buf head;
    char *tail; /* a ring, allocated if needed */
    uint64_t total, shown;
};

void capture_init(struct capture *c, size_t limit);
void capture_free(struct capture *c);
void capture_add(struct capture *c, const char *s, size_t n);
/* Appends everything, with a line where bytes were dropped. Always valid UTF-8. */
void capture_text(const struct capture *c, struct buf *out);
/* Appends what is new since the last call. */
void capture_news(struct capture *c, struct buf *out);

#endif
