/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Which denials matter. Programs try to write caches, and go on if they cannot: these share one
 * line at the end. Of the others, those of the process that was denied something last are the
 * likely reason why a command failed: a program that cannot do without a file gives up soon after.
 */

#include <stdlib.h>
#include <string.h>

#include "report/report-int.h"

enum { FOLDERS_SHOWN = 2 };

/* Names of folders that programs fill for speed or for later, and of files in them. */
static const char *const cache_names[] = {
    "/.cache/",     "/cache/",          "/Cache/",         "/caches/",
    "/_cacache/",   "/_logs/",          "/__pycache__",    "/.npm/_update-notifier",
    "/hsperfdata_", "/.ccache/",        "/.pytest_cache/", "/.mypy_cache/",
    "/.lesshst",    "/.python_history", "/.bash_history",  "/.viminfo",
};

static bool is_cache(const struct row *row)
{
    const struct group *g = row->group;
    char path[EVENT_PATH + 1];
    if (!vocab_op_is_within(g->op, OP_FILE_WRITE) || g->failure || row->path_len >= EVENT_PATH)
        return false;
    memcpy(path, g->path, row->path_len);
    path[row->path_len] = '/'; /* the folder itself counts, too */
    for (size_t i = 0; i < sizeof(cache_names) / sizeof(*cache_names); i++)
        if (memmem(path, row->path_len + 1, cache_names[i], strlen(cache_names[i])))
            return true;
    return false;
}

static int in_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->cache != y->cache)
        return x->cache - y->cache;
    if (x->suspect != y->suspect)
        return y->suspect - x->suspect;
    return x->first < y->first ? -1 : x->first > y->first;
}

size_t report_order(const struct report *r, size_t n, bool failed)
{
    size_t caches = 0;
    const struct row *newest = NULL;
    for (size_t i = 0; i < n; i++) {
        struct row *row = &r->rows[i];
        row->cache = is_cache(row);
        caches += row->cache;
        if (!row->cache && (!newest || row->group->last > newest->group->last))
            newest = row;
    }
    int32_t pid = newest ? newest->group->pid : 0;
    for (size_t i = 0; i < n; i++)
        r->rows[i].suspect = failed && !r->rows[i].cache && r->rows[i].group->pid == pid;
    /* one alone has its own line; and where there is nothing else, they may be the reason */
    if (caches == n && (caches < 2 || failed))
        return n;
    qsort(r->rows, n, sizeof(*r->rows), in_order);
    return n - caches;
}

/* Length of the path up to the folder that makes it a cache. */
static uint32_t cache_len(const struct row *row)
{
    const struct group *g = row->group;
    for (size_t i = 0; i < sizeof(cache_names) / sizeof(*cache_names); i++) {
        size_t name = strlen(cache_names[i]);
        const char *at = memmem(g->path, row->path_len, cache_names[i], name);
        if (at) {
            const char *end = memchr(at + 1, '/', (size_t)(g->path + row->path_len - at - 1));
            return end ? (uint32_t)(end - g->path) : row->path_len;
        }
    }
    return row->path_len;
}

void report_caches(const struct row *rows, size_t n, bool more, struct buf *out)
{
    uint64_t count = 0;
    size_t shown = 0, at[FOLDERS_SHOWN];
    for (size_t i = 0; i < n; i++)
        count += rows[i].count;
    if (!n)
        return;
    buf_fmt(out, "  %s%llu in caches, which programs do without: ", more ? "and " : "",
            (unsigned long long)count);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        uint32_t len = cache_len(&rows[i]);
        while (k < shown && (cache_len(&rows[at[k]]) != len ||
                             memcmp(rows[at[k]].group->path, rows[i].group->path, len) != 0))
            k++;
        if (k < shown)
            continue;
        if (shown == FOLDERS_SHOWN) {
            buf_str(out, ", …");
            break;
        }
        at[shown++] = i;
        buf_str(out, shown > 1 ? ", " : "");
        buf_safe(out, rows[i].group->path, len);
    }
    buf_chr(out, '\n');
}
