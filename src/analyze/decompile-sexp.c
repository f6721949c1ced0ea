/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Prints lists. A list that fits on a line stays on one. Otherwise its parts go below each other,
 * indented by two, except the operations of a rule, which fill lines.
 */

#include <string.h>

#include "analyze/decompile-sexp.h"
#include "base/utf8.h"

enum { LINE_WIDTH = 100, INDENT = 2 };

struct sexp *sexp_list(struct arena *a)
{
    return arena_new(a, struct sexp);
}

bool sexp_add(struct sexp *list, struct sexp *part)
{
    if (!list || !part)
        return false;
    if (list->last)
        list->last->next = part;
    else
        list->first = part;
    list->last = part;
    return true;
}

bool sexp_atom(struct arena *a, struct sexp *list, const char *text)
{
    struct sexp *s = arena_new(a, struct sexp);
    if (!s || !text)
        return false;
    s->atom = arena_strndup(a, text, strlen(text));
    s->width = strlen(text);
    return s->atom && sexp_add(list, s);
}

/* Escapes invalid UTF-8 and bytes that would control a terminal. */
void sexp_string(const char *s, size_t n, struct buf *out)
{
    buf_chr(out, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t w = utf8_width(s + i, n - i);
        if (c == '"' || c == '\\') {
            buf_fmt(out, "\\%c", c);
            i++;
        } else if (w == 0 || c < 0x20 || c == 0x7f || utf8_is_hidden(s + i, w)) {
            for (size_t end = i + (w ? w : 1); i < end; i++)
                buf_fmt(out, "\\x%02x", (unsigned char)s[i]);
        } else {
            buf_add(out, s + i, w);
            i += w;
        }
    }
    buf_chr(out, '"');
}

/* In #"…" a backslash belongs to the pattern, so it cannot escape a quote. */
void sexp_regex(const char *s, size_t n, struct buf *out)
{
    bool plain = true;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        plain = plain && c >= 0x20 && c < 0x7f && !(c == '\\' && (i + 1 == n || s[i + 1] == '"'));
        i += c == '\\' && i + 1 < n;
    }
    if (!plain) {
        sexp_string(s, n, out);
        return;
    }
    buf_str(out, "#\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            buf_chr(out, '\\');
        buf_chr(out, s[i]);
        if (s[i] == '\\' && i + 1 < n)
            buf_chr(out, s[++i]);
    }
    buf_chr(out, '"');
}

/* Nesting is bounded where lists are made. */
static size_t measure(struct sexp *s)
{
    if (s->atom)
        return s->width;
    s->width = s->first ? 1 : 2;
    for (struct sexp *k = s->first; k; k = k->next)
        s->width += measure(k) + 1;
    return s->width;
}

static void print_flat(const struct sexp *s, struct buf *out)
{
    if (s->atom) {
        buf_str(out, s->atom);
        return;
    }
    buf_chr(out, '(');
    for (const struct sexp *k = s->first; k; k = k->next) {
        print_flat(k, out);
        if (k->next)
            buf_chr(out, ' ');
    }
    buf_chr(out, ')');
}

static void new_line(size_t indent, struct buf *out)
{
    buf_chr(out, '\n');
    while (indent--)
        buf_chr(out, ' ');
}

/* `closing` parentheses follow s. */
static void print_at(const struct sexp *s, size_t indent, size_t closing, struct buf *out)
{
    if (s->atom || indent + s->width + closing <= LINE_WIDTH) {
        print_flat(s, out);
        return;
    }
    size_t column = indent + 1;
    buf_chr(out, '(');
    for (const struct sexp *k = s->first; k; k = k->next) {
        size_t after = k->next ? 0 : closing + 1;
        bool fills = k->atom && s->fills && column + 1 + k->width + after <= LINE_WIDTH;
        if (k == s->first) {
            print_at(k, indent + 1, after, out);
        } else if (fills) {
            buf_chr(out, ' ');
            print_flat(k, out);
        } else {
            column = indent + INDENT - 1;
            new_line(indent + INDENT, out);
            print_at(k, indent + INDENT, after, out);
        }
        column += 1 + k->width;
    }
    buf_chr(out, ')');
}

void sexp_print(struct sexp *s, struct buf *out)
{
    measure(s);
    print_at(s, 0, 0, out);
    buf_chr(out, '\n');
}
