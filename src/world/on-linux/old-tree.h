/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_OLD_TREE_H
#define BK_WORLD_LINUX_OLD_TREE_H

#include <sys/stat.h>

#include "world/changes.h"

/* Calls fn for everything in a folder that was removed or replaced, as far as it can be read and up
 * to a million names. path: in the place. */
typedef void old_tree_fn(void *arg, const char *path, const struct stat *st);
void old_tree_each(const struct world *w, const struct change *c, old_tree_fn *fn, void *arg);

/* Whether a change takes away a folder with what is in it, so that there are no rows for that. */
bool takes_folder(const struct change *c);

/* Marks names whose file keeps other names with the old content. */
void split_find(const struct world *w, struct changes *c);

#endif
