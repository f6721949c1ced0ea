/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_CONFLICTS_H
#define BK_WORLD_LINUX_CONFLICTS_H

#include "world/changes.h"
#include "world/on-linux/undone.h"

/* What has a later ctime has changed, unless it is one that we caused (or NULL). */
struct since {
    struct timespec time;
    const struct undone *undone;
};

/* A folder comes right before everything in it: a slash is before all other bytes. */
int path_order(const char *a, const char *b);
/* Whether a path is below a folder; everything else is below "". */
bool path_is_below(const char *path, const char *folder);

/* For lists of changes (changes.c): a new one, or NULL; their order; equal contents of files. */
struct change *changes_add(struct changes *c);
int change_order(const void *a, const void *b);
bool same_bytes(int one, int other);

/* Marks what has changed outside since the world began. */
void conflicts_find(const struct world *w, struct changes *c);

/* Whether anything at or below a name has changed since then, as far as that can be seen. A folder
 * that was moved itself has another time now: `inside` looks only at what is in it. */
bool conflicts_in_tree(int folder, const char *name, const struct since *since, bool inside);

#endif
