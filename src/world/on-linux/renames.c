/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files that were renamed. A layer notes where a file was copied from only for root. For everybody
 * else a new file is a removed one if both have the same bytes, mode and time of change to the
 * nanosecond: renaming keeps them, and copying does not by itself. It is only shown.
 */

#include "world/on-linux/moves.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "world/on-linux/conflicts.h"

enum { LOOKS_MOST = 10000 };
static const uint64_t BYTES_MOST = UINT64_C(256) << 20;

struct search {
    const struct world *w;
    struct change **removed; /* by size */
    size_t n, looks;
    uint64_t bytes;
};

static int by_size(const void *a, const void *b)
{
    const struct change *x = *(struct change *const *)a, *y = *(struct change *const *)b;
    return x->old_size != y->old_size ? (x->old_size < y->old_size ? -1 : 1) : (x < y ? -1 : x > y);
}

/* Empty files are too much alike. */
static bool find_removed(struct search *s, const struct changes *c)
{
    s->removed = calloc(c->n ? c->n : 1, sizeof(struct change *));
    for (size_t i = 0; s->removed && i < c->n; i++)
        if (c->at[i].kind == CHANGE_REMOVED && S_ISREG(c->at[i].old_mode) && c->at[i].old_size)
            s->removed[s->n++] = &c->at[i];
    if (s->n)
        qsort(s->removed, s->n, sizeof(struct change *), by_size);
    return s->n > 0;
}

/* The first of at least this size. */
static size_t first_of(const struct search *s, uint64_t size)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->removed[mid]->old_size < size)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_same_file(struct search *s, const struct change *old, const struct change *new)
{
    struct stat a, b;
    if (old->place != new->place || old->old_mode != new->new_mode)
        return false;
    OWN(fd) int one = change_open_old(s->w, old);
    OWN(fd) int other = change_open_new(s->w, new);
    if (one < 0 || other < 0 || fstat(one, &a) < 0 || fstat(other, &b) < 0 ||
        a.st_mtim.tv_sec != b.st_mtim.tv_sec || a.st_mtim.tv_nsec != b.st_mtim.tv_nsec)
        return false;
    s->bytes += new->new_size;
    return s->bytes <= BYTES_MOST && same_bytes(one, other);
}

/* A removed file has one new name. */
static void find_old_name(struct search *s, struct change *new)
{
    for (size_t i = first_of(s, new->new_size);
         i < s->n && s->looks < LOOKS_MOST && s->removed[i]->old_size <= new->new_size; i++) {
        struct change *old = s->removed[i];
        s->looks++;
        if (old->old_size != new->new_size || !is_same_file(s, old, new))
            continue;
        new->from = old->path;
        memmove(&s->removed[i], &s->removed[i + 1], (s->n - i - 1) * sizeof(struct change *));
        s->n--;
        return;
    }
}

void renames_find(const struct world *w, struct changes *c)
{
    struct search s = {.w = w};
    bool any = find_removed(&s, c);
    for (size_t i = 0; any && i < c->n; i++)
        if (c->at[i].kind == CHANGE_ADDED && S_ISREG(c->at[i].new_mode) && !c->at[i].from)
            find_old_name(&s, &c->at[i]);
    free(s.removed);
}
