/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Output strings, and the three ways a byte string leaves the program: JSON, SBPL, terminal. */

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

/* What JSON and SBPL spell alike in strings; NULL for other characters. */
static const char *escape_of(unsigned char c)
{
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : NULL;
}

void buf_json(struct buf *b, const char *s, size_t n)
{
    buf_chr(b, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t w = utf8_width(s + i, n - i);
        if (w == 0) {
            buf_str(b, "\\ufffd");
            i++;
            continue;
        }
        if (escape_of(c))
            buf_str(b, escape_of(c));
        else if (c < 0x20 || c == 0x7f)
            buf_fmt(b, "\\u%04x", c);
        else
            buf_add(b, s + i, w);
        i += w;
    }
    buf_chr(b, '"');
}

void buf_sbpl(struct buf *b, const char *s, size_t n)
{
    buf_chr(b, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (escape_of(c))
            buf_str(b, escape_of(c));
        else if (c < 0x20 || c == 0x7f)
            buf_fmt(b, "\\x%02x", c);
        else
            buf_chr(b, (char)c);
    }
    buf_chr(b, '"');
}

void buf_safe(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t w = utf8_width(s + i, n - i);
        if (w == 0 || c < 0x20 || c == 0x7f || utf8_is_hidden(s + i, w)) {
            size_t bad = w ? w : 1;
            for (size_t k = 0; k < bad; k++)
                buf_fmt(b, "\\x%02x", (unsigned char)s[i + k]);
            i += bad;
            continue;
        }
        buf_add(b, s + i, w);
        i += w;
    }
}
