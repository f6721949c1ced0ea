/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_MOVES_H
#define BK_WORLD_LINUX_MOVES_H

#include "world/changes.h"

/* Finds the old names of folders that were renamed. The list is sorted. */
void moves_find(const struct world *w, struct changes *c);
/* The same of files, after that. */
void renames_find(const struct world *w, struct changes *c);

#endif
