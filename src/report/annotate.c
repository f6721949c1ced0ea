/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Adds the block of violations to a command's error output. The command controls both that output
 * and the file names in the block, so tags in the first and brackets in the second are escaped.
 */

#include "report/annotate.h"

#include <string.h>
#include <strings.h>

static const char open_tag[] = "<sandbox_violations>";
static const char close_tag[] = "</sandbox_violations>";
enum { OPEN_LEN = sizeof(open_tag) - 1, CLOSE_LEN = sizeof(close_tag) - 1 };

static bool begins(const char *at, size_t left, const char *word, size_t n)
{
    return left >= n && memcmp(at, word, n) == 0;
}

/* Anything that a reader might take for our tag: any case, any attributes. */
static bool is_tag(const char *at, size_t left)
{
    static const char name[] = "sandbox_violations";
    size_t slash = left > 1 && at[1] == '/';
    return at[0] == '<' && left > slash + sizeof(name) - 1 &&
           strncasecmp(at + 1 + slash, name, sizeof(name) - 1) == 0;
}

/* Escapes brackets: file names may contain tags. */
static void add_line(struct buf *out, const char *line)
{
    for (const char *at = line; *at;) {
        size_t plain = strcspn(at, "<>&");
        buf_safe(out, at, plain);
        at += plain;
        if (*at)
            buf_str(out, *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : "&amp;");
        at += *at != '\0';
    }
    buf_chr(out, '\n');
}

void annotate_block(const struct violations *v, uint64_t total, struct buf *out)
{
    if (!v || v->n == 0)
        return;
    buf_fmt(out, "\n%s\n", open_tag);
    if (total > v->n)
        buf_fmt(out, "%llu operations were denied; the last %zu are:\n", (unsigned long long)total,
                v->n);
    for (size_t i = 0; i < v->n; i++)
        add_line(out, v->at[i].line);
    buf_str(out, close_tag);
}

void annotate(const char *text, size_t n, const struct violations *v, uint64_t total,
              struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (is_tag(text + i, n - i))
            buf_str(out, "&lt;");
        else
            buf_chr(out, text[i]);
    annotate_block(v, total, out);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(struct buf *b, size_t from)
{
    size_t lead = 0;
    if (!buf_ok(b) || b->n == from)
        return;
    while (b->n > from && is_space(b->s[b->n - 1]))
        b->n--;
    while (from + lead < b->n && is_space(b->s[from + lead]))
        lead++;
    memmove(b->s + from, b->s + from + lead, b->n - from - lead);
    b->n -= lead;
    b->s[b->n] = '\0';
}

/* Appends the text without blocks. Returns whether there were any. */
static bool add_stripped(const char *text, size_t n, bool unclosed, struct buf *out)
{
    bool stripped = false;
    for (size_t i = 0; i < n;) {
        bool opens = begins(text + i, n - i, open_tag, OPEN_LEN);
        const char *end = opens ? memmem(text + i, n - i, close_tag, CLOSE_LEN) : NULL;
        bool block = end || (opens && unclosed);
        if (block)
            i = end ? (size_t)(end - text) + CLOSE_LEN : n;
        else
            buf_chr(out, text[i++]);
        stripped |= block;
    }
    return stripped;
}

void annotate_strip(const char *text, size_t n, struct buf *out)
{
    size_t from = out->n;
    if (add_stripped(text, n, false, out))
        trim(out, from);
}

static size_t digits(const char *at, size_t left)
{
    size_t n = 0;
    while (n < left && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

/* "cat(4711) deny(1) file-read-data …", or the line above the first one. */
static bool is_of_block(const char *line, size_t n)
{
    static const char denies[] = ") deny(", total[] = " operations were denied; the last ";
    size_t count = digits(line, n);
    if (count && begins(line + count, n - count, total, sizeof(total) - 1))
        return true;
    const char *deny = memmem(line, n, denies, sizeof(denies) - 1);
    if (!deny)
        return false;
    const char *open = deny;
    while (open > line && open[-1] >= '0' && open[-1] <= '9')
        open--;
    const char *level = deny + sizeof(denies) - 1;
    size_t left = n - (size_t)(level - line), k = digits(level, left);
    return open < deny && open - 1 > line && open[-1] == '(' && k &&
           begins(level + k, left - k, ") ", 2);
}

/* Whether a piece is the middle of a block: it has no tag, and nothing but lines of a block. */
static bool is_middle(const char *text, size_t n)
{
    bool any = false;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (len && !is_of_block(text + at, len))
            return false;
        any |= len != 0;
        at += len + 1;
    }
    return any;
}

void annotate_strip_piece(const char *text, size_t n, struct annotate_piece piece, struct buf *out)
{
    if (piece.after && piece.before && is_middle(text, n))
        return;
    const char *end = piece.after ? memmem(text, n, close_tag, CLOSE_LEN) : NULL;
    const char *begin = end ? memmem(text, n, open_tag, OPEN_LEN) : NULL;
    size_t from = end && (!begin || end < begin) ? (size_t)(end - text) + CLOSE_LEN : 0;
    (void)add_stripped(text + from, n - from, piece.before, out);
}
