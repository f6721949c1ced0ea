/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_BELOW_H
#define BK_WORLD_LINUX_BELOW_H

#include "world/keep.h"

/* Worlds on top of worlds. */

/* Copies what a world has written below a new one. */
int world_begin_on(struct world *w, const char *on, struct bk_err *err);
/* Opens what is below a place. folder: the place's own. */
void world_open_below(const struct world *w, struct world_place *p, int folder);

/* Puts everything into the world below, and removes this one. Returns how many rows that were. */
long world_keep_below(struct world *w, const struct changes *c, struct bk_err *err);
/* Finishes what an interrupted world_keep_below() began in the world below. Returns whether there
 * was something. */
bool world_finish_swap(const struct world *w);

/* Whether the world below has changed there since this one began. */
bool below_conflicts(const struct world *w, const struct change *c);

#endif
