/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Turns groups into lines. Three or more files of one folder that the same rule denied become one
 * line, and so do three or more such folders. Folders near the root and the home folder itself stay
 * apart, because their names matter. If too many lines remain, the neighbours with the deepest
 * common folder are merged until they fit.
 *
 * Rows are sorted before each step, so that candidates are neighbours. The work is bounded by rows²
 * × path length.
 */

#include <stdlib.h>
#include <string.h>

#include "report/report-int.h"

enum { FOLD_FILES = 3 };

static int by_kind(const struct row *a, const struct row *b)
{
    if (a->group->op != b->group->op)
        return a->group->op < b->group->op ? -1 : 1;
    if (a->group->rule != b->group->rule)
        return a->group->rule < b->group->rule ? -1 : 1;
    return 0;
}

/* '/' sorts first, so that a folder's contents follow it directly. */
static int by_bytes(const char *x, uint32_t n, const char *y, uint32_t m)
{
    for (uint32_t i = 0; i < n && i < m; i++) {
        unsigned char a = (unsigned char)x[i], b = (unsigned char)y[i];
        if (a != b)
            return a == '/' ? -1 : b == '/' ? 1 : a < b ? -1 : 1;
    }
    return n < m ? -1 : n > m;
}

/* Length of a path's folder; 0 if it has none. */
static uint32_t folder_len(const char *path, uint32_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    return n > 1 ? n - 1 : 0;
}

static int in_folder_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    uint32_t n = folder_len(x->group->path, x->path_len);
    uint32_t m = folder_len(y->group->path, y->path_len);
    int c = by_kind(x, y);
    c = c ? c : by_bytes(x->group->path, n, y->group->path, m);
    return c ? c : by_bytes(x->group->path, x->path_len, y->group->path, y->path_len);
}

static int in_path_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = by_kind(x, y);
    return c ? c : by_bytes(x->group->path, x->path_len, y->group->path, y->path_len);
}

static int in_time_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

unsigned path_depth(const char *path, uint32_t n)
{
    unsigned depth = 0;
    for (uint32_t i = 0; i < n && path[0] == '/'; i++)
        depth += path[i] == '/';
    return depth;
}

/* Length of the deepest folder that contains both rows; 0 if they differ in kind. */
static uint32_t common_folder(const struct row *a, const struct row *b)
{
    const char *x = a->group->path, *y = b->group->path;
    uint32_t n = a->path_len < b->path_len ? a->path_len : b->path_len;
    uint32_t i = 0, folder = 0;
    if (by_kind(a, b) != 0 || x[0] != '/' || y[0] != '/')
        return 0;
    for (; i < n && x[i] == y[i]; i++)
        if (x[i] == '/')
            folder = i;
    bool x_ends = i == a->path_len || x[i] == '/', y_ends = i == b->path_len || y[i] == '/';
    return x_ends && y_ends ? i : folder;
}

/* Merges row b into a, which becomes the folder of len bytes. */
static void absorb(struct row *a, const struct row *b, uint32_t len)
{
    a->path_len = len;
    a->groups += b->groups;
    a->count += b->count;
    if (b->first < a->first)
        a->first = b->first;
}

static bool same_folder(const struct row *a, const struct row *b, uint32_t len)
{
    return by_kind(a, b) == 0 && folder_len(b->group->path, b->path_len) == len &&
           memcmp(a->group->path, b->group->path, len) == 0;
}

/* Merges three or more rows of one folder into that folder. */
static size_t fold_folders(struct row *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t len = folder_len(rows[i].group->path, rows[i].path_len);
        for (end = i + 1; end < n && same_folder(&rows[i], &rows[end], len); end++)
            ;
        bool fold = end - i >= FOLD_FILES && path_depth(rows[i].group->path, len) >= FOLD_DEPTH;
        size_t to = kept;
        for (size_t k = i; k < end; k++) {
            if (fold && k > i)
                absorb(&rows[to], &rows[k], len);
            else
                rows[kept++] = rows[k];
        }
    }
    return kept;
}

/* Merges the two neighbours with the deepest common folder, and everything else in that folder.
 * Returns false if there are none. */
static bool fold_deepest(struct row *rows, size_t *n)
{
    size_t best = 0, kept;
    unsigned deepest = 0;
    uint32_t len = 0;
    for (size_t i = 0; i + 1 < *n; i++) {
        uint32_t common = common_folder(&rows[i], &rows[i + 1]);
        unsigned depth = path_depth(rows[i].group->path, common);
        if (depth > deepest) {
            deepest = depth;
            best = i;
            len = common;
        }
    }
    if (deepest == 0)
        return false;
    kept = best + 1;
    for (size_t i = best + 1; i < *n; i++) {
        if (common_folder(&rows[best], &rows[i]) == len)
            absorb(&rows[best], &rows[i], len);
        else
            rows[kept++] = rows[i];
    }
    *n = kept;
    return true;
}

size_t report_rows(const struct report *r)
{
    size_t n = 0, before;
    for (size_t i = 0; i < r->used; i++) {
        const struct group *g = &r->groups[i];
        if (g->by_preset)
            continue;
        r->rows[n++] = (struct row){
            .group = g, .path_len = g->path_len, .groups = 1, .count = g->count, .first = g->first};
    }
    do {
        before = n;
        qsort(r->rows, n, sizeof(*r->rows), in_folder_order);
        n = fold_folders(r->rows, n);
    } while (n < before);
    qsort(r->rows, n, sizeof(*r->rows), in_path_order);
    while (n > ROWS_SHOWN && fold_deepest(r->rows, &n))
        ;
    qsort(r->rows, n, sizeof(*r->rows), in_time_order);
    return n;
}
