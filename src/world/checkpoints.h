/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_CHECKPOINTS_H
#define BK_WORLD_CHECKPOINTS_H

#include "world/world.h"

/*
 * A checkpoint: what a world was after a command. It is a copy of each place's upper side, taken
 * while the layers may be mounted. Files that have not changed since the checkpoint before are
 * second names of the copies there. Numbers begin at 1; 0 is the beginning, when nothing had
 * changed yet. The oldest ones are removed when there are more than CHECKPOINTS_MOST.
 *
 * They are copies, not frozen lower layers: folders of a lower layer cannot be renamed, and a layer
 * cannot be frozen while processes in the background have it mounted.
 */
enum { CHECKPOINTS_MOST = 100 };

struct checkpoint {
    unsigned number;
    struct timespec at;
    char *command;
};

/* Returns its number, 0 if nothing has changed since the one before, or -1. */
int checkpoint_make(struct world *w, const char *command, struct bk_err *err);

/* The oldest first. Free with checkpoints_free(). Returns how many. */
size_t checkpoints_list(const struct world *w, struct checkpoint **out);
void checkpoints_free(struct checkpoint *list, size_t n);

/* Lets changes_read() see the world as it was then. Nothing can be kept from it. */
int checkpoint_look(struct world *w, unsigned number, struct bk_err *err);
/* Opens it for changes_between(), as the old side. */
int checkpoint_since(struct world *w, unsigned number, struct bk_err *err);
/* Makes the world what it was then. Later checkpoints are removed. */
int checkpoint_back(struct world *w, unsigned number, struct bk_err *err);

#endif
