/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The difference of two texts, line by line. Equal lines at both ends are cut off first; in between
 * a table of common subsequences decides, or, if the texts are too long for one, everything counts
 * as replaced. One hunk, with three lines around it: changes to settings are close together.
 */

#include "base/text-diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum { AROUND = 3, TABLE_MOST = 4 << 20 };

struct lines {
    const char **at; /* n + 1: the last one is the end */
    size_t n;
};

static bool split(const char *s, size_t n, struct lines *out)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += s[i] == '\n' || i + 1 == n;
    out->at = calloc(count + 1, sizeof(*out->at));
    if (!out->at)
        return false;
    const char *at = s;
    for (out->n = 0; out->n < count; out->n++) {
        const char *end = memchr(at, '\n', (size_t)(s + n - at));
        out->at[out->n] = at;
        at = end ? end + 1 : s + n;
    }
    out->at[count] = s + n;
    return true;
}

static bool same(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
    size_t n = (size_t)(a->at[i + 1] - a->at[i]);
    return n == (size_t)(b->at[k + 1] - b->at[k]) && memcmp(a->at[i], b->at[k], n) == 0;
}

static void print_line(struct buf *out, char mark, const struct lines *l, size_t i)
{
    const char *s = l->at[i];
    size_t n = (size_t)(l->at[i + 1] - s);
    bool whole = n && s[n - 1] == '\n';
    buf_chr(out, mark);
    for (size_t at = 0, end = whole ? n - 1 : n; at < end; at++) { /* a tab is no harm */
        size_t part = at;
        while (part < end && s[part] != '\t')
            part++;
        buf_safe(out, s + at, part - at);
        buf_str(out, part < end ? "\t" : "");
        at = part;
    }
    buf_str(out, whole ? "\n" : "\n\\ No newline at end of file\n");
}

/* The middles: a[i..ia), b[k..kb). */
struct middle {
    const struct lines *a, *b;
    size_t i, ia, k, kb;
};

static void print_middle(struct buf *out, struct middle m)
{
    size_t rows = m.ia - m.i + 1, cols = m.kb - m.k + 1;
    OWN(mem)
    uint32_t *table = rows < TABLE_MOST / cols ? calloc(rows * cols, sizeof(uint32_t)) : NULL;
    for (size_t r = rows - 1; table && r-- > 0;)
        for (size_t c = cols - 1; c-- > 0;) {
            uint32_t down = table[(r + 1) * cols + c], right = table[r * cols + c + 1];
            table[r * cols + c] = same(m.a, m.i + r, m.b, m.k + c)
                                      ? table[(r + 1) * cols + c + 1] + 1
                                  : down > right ? down
                                                 : right;
        }
    size_t r = 0, c = 0;
    while (r + 1 < rows || c + 1 < cols) {
        bool left = r + 1 < rows, more = c + 1 < cols;
        if (left && more && table && same(m.a, m.i + r, m.b, m.k + c)) {
            print_line(out, ' ', m.a, m.i + r);
            r++, c++;
        } else if (left &&
                   (!more || !table || table[(r + 1) * cols + c] >= table[r * cols + c + 1])) {
            print_line(out, '-', m.a, m.i + r++);
        } else {
            print_line(out, '+', m.b, m.k + c++);
        }
    }
}

static void print_hunk(struct buf *out, const struct lines *a, const struct lines *b)
{
    size_t head = 0, tail = 0;
    while (head < a->n && head < b->n && same(a, head, b, head))
        head++;
    while (tail < a->n - head && tail < b->n - head && same(a, a->n - 1 - tail, b, b->n - 1 - tail))
        tail++;
    size_t from = head > AROUND ? head - AROUND : 0, behind = tail > AROUND ? AROUND : tail;
    size_t na = a->n - tail + behind - from, nb = b->n - tail + behind - from;
    buf_fmt(out, "@@ -%zu,%zu +%zu,%zu @@\n", na ? from + 1 : 0, na, nb ? from + 1 : 0, nb);
    for (size_t i = from; i < head; i++)
        print_line(out, ' ', a, i);
    print_middle(out, (struct middle){a, b, head, a->n - tail, head, b->n - tail});
    for (size_t i = a->n - tail; i < a->n - tail + behind; i++)
        print_line(out, ' ', a, i);
}

static void print_name(struct buf *out, const char *mark, const char *name, const char *text)
{
    buf_str(out, mark);
    if (text)
        buf_safe(out, name, strlen(name));
    else
        buf_str(out, "/dev/null");
    buf_chr(out, '\n');
}

void text_diff(const char *name, const char *old, size_t nold, const char *new, size_t nnew,
               struct buf *out)
{
    struct lines a = {0}, b = {0};
    if (!old == !new &&nold == nnew && (!old || memcmp(old, new, nold) == 0))
        return;
    if (split(old ? old : "", nold, &a) && split(new ? new : "", nnew, &b)) {
        print_name(out, "--- ", name, old);
        print_name(out, "+++ ", name, new);
        print_hunk(out, &a, &b);
    } else {
        out->failed = true;
    }
    free(a.at);
    free(b.at);
}
