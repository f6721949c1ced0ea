/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Glob → regex text. The conversion is defined as a chain of replacements over the whole text, each
 * seeing the result of the previous ones. The code follows that chain: a scanner would be neater
 * but would differ where steps interact. A placeholder typed by the user counts as the globstar it
 * names, and in [*] the star is replaced inside the brackets.
 *
 * First a backslash goes before each of . ^ $ + { } ( ) | and \, then before the first [ that no ]
 * follows. Then the table below is applied, row by row. Finally ^ goes in front and $ at the
 * end.
 */

#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/own.h"
#include "graph/regex/regex.h"

struct replacement {
    const char *from, *to;
};

static const struct replacement chain[] = {
    {"**/", "__GLOBSTAR_SLASH__"},    {"**", "__GLOBSTAR__"}, {"*", "[^/]*"}, {"?", "[^/]"},
    {"__GLOBSTAR_SLASH__", "(.*/)?"}, {"__GLOBSTAR__", ".*"},
};

static void quote_specials(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (memchr(".^$+{}()|\\", s[i], 10))
            buf_chr(out, '\\');
        buf_chr(out, s[i]);
    }
}

/* The first [ that no ] follows is the first one after the last ]. */
static void quote_unclosed(struct buf *out, const struct buf *in)
{
    if (!in->s)
        return;
    const char *end = in->s + in->n, *close = bytes_find_last(in->s, ']', in->n);
    const char *from = close ? close + 1 : in->s;
    const char *open = memchr(from, '[', (size_t)(end - from));
    if (!open)
        open = end;
    buf_add(out, in->s, (size_t)(open - in->s));
    buf_str(out, open < end ? "\\" : "");
    buf_add(out, open, (size_t)(end - open));
}

static void replace_all(struct buf *out, const struct buf *in, const struct replacement *r)
{
    if (!in->s)
        return;
    const char *at = in->s, *end = at + in->n, *hit;
    size_t len = strlen(r->from);
    while ((hit = memmem(at, (size_t)(end - at), r->from, len))) {
        buf_add(out, at, (size_t)(hit - at));
        buf_str(out, r->to);
        at = hit + len;
    }
    buf_add(out, at, (size_t)(end - at));
}

static void swap(struct buf *a, struct buf *b)
{
    struct buf t = *a;
    *a = *b;
    *b = t;
    b->n = 0;
}

char *glob_to_regex(struct arena *arena, const char *glob, size_t n)
{
    /* The result ends at its NUL, so one inside would cut off the `$`. No path contains a NUL. */
    if (n && memchr(glob, '\0', n))
        return arena_strndup(arena, "^[]$", 4);
    OWN(buf) struct buf now = {0};
    OWN(buf) struct buf next = {0};
    quote_specials(&now, glob, n);
    quote_unclosed(&next, &now);
    swap(&now, &next);
    for (size_t i = 0; i < sizeof(chain) / sizeof(chain[0]); i++) {
        replace_all(&next, &now, &chain[i]);
        swap(&now, &next);
    }
    buf_chr(&next, '^');
    buf_add(&next, now.s, now.n);
    buf_chr(&next, '$');
    return buf_ok(&now) && buf_ok(&next) ? arena_strndup(arena, next.s, next.n) : NULL;
}
