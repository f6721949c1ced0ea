/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Answers have only header fields: a body would take room on the connection that the server counts,
 * too. Fields are written without an index, so that the client's table stays the server's.
 */

#include "net/h2-answer.h"

#include <string.h>

#include "net/h2.h"

enum { HEADERS = 1, RST_STREAM = 3, PUSH_PROMISE = 5, WINDOW_UPDATE = 8, CONTINUATION = 9 };
enum { END_STREAM = 1, END_HEADERS = 4 };

static bool is_between(const struct h2_place *p)
{
    return p->begun && p->nhead == 0 && p->left == 0 && !p->in_block;
}

/* Takes at most one step; returns how many bytes that took. */
static size_t step(struct h2_place *p, const uint8_t *data, size_t n)
{
    if (p->left) {
        size_t part = n < p->left ? n : p->left;
        p->left -= (uint32_t)part;
        return part;
    }
    p->head[p->nhead++] = *data;
    if (p->nhead < sizeof(p->head))
        return 1;
    uint8_t type = p->head[3];
    p->nhead = 0;
    p->begun = true;
    p->left = (uint32_t)p->head[0] << 16 | (uint32_t)p->head[1] << 8 | p->head[2];
    if (type == HEADERS || type == PUSH_PROMISE || type == CONTINUATION)
        p->in_block = !(p->head[4] & END_HEADERS);
    return 1;
}

void h2_place_follow(struct h2_place *p, const uint8_t *data, size_t n)
{
    for (size_t used = 0; used < n;)
        used += step(p, data + used, n - used);
}

size_t h2_answers_follow(struct h2_answers *a, const uint8_t *data, size_t n)
{
    size_t used = 0;
    while (used < n && !(used && a->waiting.n && is_between(&a->at)))
        used += step(&a->at, data + used, n - used);
    return used;
}

bool h2_answers_may_send(const struct h2_answers *a)
{
    return is_between(&a->at);
}

/* ---- our frames ---- */

static void add_head(struct buf *out, size_t size, uint8_t type, uint8_t flags, uint32_t stream)
{
    const uint8_t head[] = {(uint8_t)(size >> 16),
                            (uint8_t)(size >> 8),
                            (uint8_t)size,
                            type,
                            flags,
                            (uint8_t)(stream >> 24),
                            (uint8_t)(stream >> 16),
                            (uint8_t)(stream >> 8),
                            (uint8_t)stream};
    buf_add(out, (const char *)head, sizeof(head));
}

static void add_number(struct buf *out, uint8_t type, uint32_t stream, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                             (uint8_t)value};
    add_head(out, sizeof(bytes), type, 0, stream);
    buf_add(out, (const char *)bytes, sizeof(bytes));
}

/* A field with a name that is in no table. */
static void add_field(struct buf *out, const char *name, const char *value)
{
    enum { LONGEST = 126 }; /* a length in one byte */
    size_t n = strnlen(value, LONGEST);
    buf_add(out, "\0", 1);
    buf_chr(out, (char)strlen(name));
    buf_str(out, name);
    buf_chr(out, (char)n);
    for (size_t i = 0; i < n; i++)
        buf_chr(out, value[i] >= ' ' && value[i] <= '~' ? value[i] : '?');
}

void h2_answers_deny(struct h2_answers *a, uint32_t stream, const struct h2_denial *no, bool stop)
{
    static const uint8_t length[] = {0x0f, 0x0d, 1, '0'}; /* content-length */
    enum { HTTP_1_1_REQUIRED = 13 };
    struct buf block = {0};
    if (no->wants_http1) {
        add_number(&a->waiting, RST_STREAM, stream, HTTP_1_1_REQUIRED);
        return;
    }
    buf_add(&block, "\x08\x03", 2); /* :status by its number */
    buf_fmt(&block, "%03u", no->status % 1000U);
    buf_add(&block, (const char *)length, sizeof(length));
    add_field(&block, "x-buckle-denied", no->why);
    if (no->mark)
        add_field(&block, "x-proxy-error", no->mark);
    add_head(&a->waiting, block.n, HEADERS, END_STREAM | END_HEADERS, stream);
    buf_add(&a->waiting, block.s, block.n);
    a->waiting.failed |= !buf_ok(&block);
    if (stop)
        add_number(&a->waiting, RST_STREAM, stream, 0);
    buf_free(&block);
}

void h2_answers_credit(struct h2_answers *a, uint32_t bytes)
{
    if (bytes)
        add_number(&a->waiting, WINDOW_UPDATE, 0, bytes);
}
