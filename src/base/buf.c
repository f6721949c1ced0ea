/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Growing output strings, and three ways to quote a byte string: for JSON, SBPL and a terminal. */

#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void buf_free(struct buf *b)
{
    free(b->s);
    memset(b, 0, sizeof(*b));
}

bool buf_ok(const struct buf *b)
{
    return !b->failed;
}

/* Makes room for n more bytes and a NUL. */
static bool reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (n < b->cap - b->n)
        return true;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->n <= n) {
        if (cap > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        cap *= 2;
    }
    char *s = realloc(b->s, cap);
    if (!s) {
        b->failed = true;
        return false;
    }
    b->s = s;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const char *s, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

void buf_sized(struct buf *b, const void *bytes, size_t n)
{
    buf_add(b, (const char *)&n, sizeof(n));
    buf_add(b, bytes, n);
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_chr(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && reserve(b, (size_t)n)) {
        vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

/* The escape that JSON and SBPL strings share; NULL for other characters. */
static const char *escape_of(unsigned char c)
{
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : NULL;
}

/* False for control characters, and for characters that are invisible or change how others look. */
static bool is_shown(const char *s, size_t w)
{
    unsigned char c = (unsigned char)s[0];
    return w == 1 ? c >= 0x20 && c != 0x7f : !utf8_is_hidden(s, w);
}

/* \u00ad; characters past U+FFFF become two. */
static void add_u(struct buf *b, uint32_t cp)
{
    if (cp > 0xffff)
        buf_fmt(b, "\\u%04x", (unsigned)(0xd7c0 + (cp >> 10)));
    buf_fmt(b, "\\u%04x", (unsigned)(cp > 0xffff ? 0xdc00 | (cp & 0x3ff) : cp));
}

void buf_json(struct buf *b, const char *s, size_t n)
{
    buf_chr(b, '"');
    for (size_t i = 0, w; i < n; i += w ? w : 1) {
        w = utf8_width(s + i, n - i);
        if (w == 0)
            buf_str(b, "\\ufffd");
        else if (escape_of((unsigned char)s[i]))
            buf_str(b, escape_of((unsigned char)s[i]));
        else if (is_shown(s + i, w))
            buf_add(b, s + i, w);
        else
            add_u(b, utf8_value(s + i, w));
    }
    buf_chr(b, '"');
}

/* Outside strings JSON is ASCII, and all its control characters are white space. */
void buf_json_text(struct buf *b, const char *json, size_t n)
{
    size_t from = 0;
    for (size_t i = 0, w; i < n; i += w ? w : 1) {
        w = utf8_width(json + i, n - i);
        if (w == 0 || (unsigned char)json[i] < 0x20 || is_shown(json + i, w))
            continue;
        buf_add(b, json + from, i - from);
        add_u(b, utf8_value(json + i, w));
        from = i + w;
    }
    buf_add(b, json + from, n - from);
}

static void add_x(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "\\x%02x", (unsigned char)s[i]);
}

void buf_sbpl(struct buf *b, const char *s, size_t n)
{
    buf_chr(b, '"');
    for (size_t i = 0, w; i < n; i += w) {
        w = utf8_width(s + i, n - i);
        w = w ? w : 1; /* not UTF-8: a path may hold any bytes */
        if (escape_of((unsigned char)s[i]))
            buf_str(b, escape_of((unsigned char)s[i]));
        else if (is_shown(s + i, w))
            buf_add(b, s + i, w);
        else
            add_x(b, s + i, w);
    }
    buf_chr(b, '"');
}

void buf_safe(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0, w; i < n; i += w ? w : 1) {
        w = utf8_width(s + i, n - i);
        if (w && is_shown(s + i, w))
            buf_add(b, s + i, w);
        else
            add_x(b, s + i, w ? w : 1);
    }
}
