/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_OLD_TREE_H
#define BK_WORLD_LINUX_OLD_TREE_H

#include "world/changes.h"

/* Marks names whose file keeps other names with the old content. */
void split_find(const struct world *w, struct changes *c);

#endif
