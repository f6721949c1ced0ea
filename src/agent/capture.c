/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Keeps the first and last half of the limit. The tail is a ring, allocated when the head is full.
 */

#include "agent/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"

void capture_init(struct capture *c, size_t limit)
{
    *c = (struct capture){.limit = limit};
}

void capture_free(struct capture *c)
{
    buf_free(&c->head);
    free(c->tail);
    c->tail = NULL;
}

static size_t head_most(const struct capture *c)
{
    return c->limit / 2;
}

static size_t tail_most(const struct capture *c)
{
    return c->limit - head_most(c);
}

/* Byte i of the output is at i % tail_most() while it is in the tail. */
static void add_tail(struct capture *c, const char *s, size_t n)
{
    size_t most = tail_most(c);
    uint64_t at = c->total;
    if (n > most) {
        at += n - most;
        s += n - most;
        n = most;
    }
    if (!c->tail)
        c->tail = malloc(most ? most : 1);
    for (size_t i = 0; c->tail && most && i < n; i++)
        c->tail[(at + i) % most] = s[i];
}

void capture_add(struct capture *c, const char *s, size_t n)
{
    size_t room = c->head.n < head_most(c) ? head_most(c) - c->head.n : 0;
    size_t first = n < room ? n : room;
    buf_add(&c->head, s, first);
    c->total += first;
    if (n > first) {
        add_tail(c, s + first, n - first);
        c->total += n - first;
    }
}

/* Appends the bytes [from, to) that are still there. */
static void add_range(const struct capture *c, uint64_t from, uint64_t to, struct buf *out)
{
    size_t most = tail_most(c);
    for (; from < to && from < c->head.n; from++)
        buf_chr(out, c->head.s[from]);
    for (; from < to && c->tail && most; from++)
        buf_chr(out, c->tail[from % most]);
}

/* Replaces invalid bytes and characters that were cut: JSON allows only UTF-8. */
static void add_valid(const struct buf *raw, struct buf *out)
{
    for (size_t i = 0; i < raw->n;) {
        size_t w = utf8_width(raw->s + i, raw->n - i);
        if (w)
            buf_add(out, raw->s + i, w);
        else
            buf_str(out, "\xef\xbf\xbd");
        i += w ? w : 1;
    }
}

static void append_output(const struct capture *c, uint64_t from, struct buf *out)
{
    OWN(buf) struct buf raw = {0};
    uint64_t kept = c->head.n, last = c->total > tail_most(c) ? c->total - tail_most(c) : 0;
    last = last > kept ? last : kept; /* where the kept tail begins */
    add_range(c, from, kept, &raw);
    uint64_t gap = from > kept ? from : kept;
    if (last > gap)
        buf_fmt(&raw, "\n[… %llu byte%s left out …]\n", (unsigned long long)(last - gap),
                plural(last - gap));
    add_range(c, last > from ? last : from, c->total, &raw);
    if (buf_ok(&raw))
        add_valid(&raw, out);
}

void capture_text(const struct capture *c, struct buf *out)
{
    append_output(c, 0, out);
}

void capture_news(struct capture *c, struct buf *out)
{
    append_output(c, c->shown, out);
    c->shown = c->total;
}
