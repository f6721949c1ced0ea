/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Spelling suggestions: the candidate with the smallest edit distance. */

#include "base/spelling.h"

#include <string.h>

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance from a to b: insert, delete, replace, swap neighbours. Both are short. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][SPELLING_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = min_of(best, min_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = min_of(best, before[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *spelling_nearest(const char *name, const char *const *names, size_t n)
{
    size_t len = strlen(name), best = 3;
    const char *found = NULL;
    if (len > SPELLING_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t m = strlen(names[i]);
        size_t d = m <= SPELLING_MAX ? distance(name, len, names[i], m) : best;
        if (d < best && d < min_of(len, m)) {
            best = d;
            found = names[i];
        }
    }
    return found;
}
