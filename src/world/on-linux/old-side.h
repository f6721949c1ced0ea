/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_OLD_SIDE_H
#define BK_WORLD_LINUX_OLD_SIDE_H

#include <sys/stat.h>

#include "world/world.h"

/* What is below a place: the real folder, and on top of it what the worlds below had written. One
 * folder of all of them, as far as the overlay would show it. */
struct old_side {
    int fds[WORLD_BELOW + 1];
    size_t n;
};

/* Returns 0 or a negative errno; -ENOENT: there is no such folder. */
int old_open(const struct world_place *p, const char *path, struct old_side *out);
void old_close(struct old_side *o);
#define OWN_old_side old_close

/* The number of the layer that shows a name there, or -1. */
int old_find(const struct old_side *o, const char *name, struct stat *st);

/* Opens the folder in which the old file of a path is, and finds its name. A negative errno: there
 * is none. */
int old_above(const struct world_place *p, const char *path, const char **name);

#endif
