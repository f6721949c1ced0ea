/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * "Did you mean": the known name with the smallest edit distance, where swapping two neighbouring
 * letters counts as one edit. Names are short and few, so every one is compared, with three rows of
 * the matrix on the stack. The longest name bounds the work, not the input.
 */

#include <string.h>

#include "vocab/words.h"

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the number of edits from a to b, or limit + 1 when there are more than limit. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m, unsigned limit)
{
    unsigned rows[3][VOCAB_NAME_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= m; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned least = row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
            if (row[j] < least)
                least = row[j];
        }
        if (least > limit)
            return limit + 1;
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[m];
}

/* Names of the compiled form, which a user is unlikely to mean. */
static bool internal(const char *name)
{
    return name[0] == '%';
}

const char *vocab_suggest(const char *name, size_t n, unsigned kinds)
{
    if (n < 2 || n >= VOCAB_NAME_MAX)
        return NULL;

    const char *best = NULL;
    unsigned limit = n < 4 ? 1 : n < 9 ? 2 : 3;
    unsigned nearest = limit + 1;
    bool nearest_is_alias = false;

    for (size_t i = 0; i < vocab_spelling_count(); i++) {
        struct vocab_word word;
        const char *known = vocab_spelling_at(i, &word);
        size_t m = strlen(known);
        if (!(kinds >> word.kind & 1) || internal(known) || (m > n ? m - n : n - m) > limit)
            continue;
        unsigned edits = distance(name, n, known, m, limit);
        if (edits < nearest || (edits == nearest && best && nearest_is_alias && !word.alias)) {
            best = known;
            nearest = edits;
            nearest_is_alias = word.alias;
        }
    }
    return best;
}
