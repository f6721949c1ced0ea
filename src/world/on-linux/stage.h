/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_STAGE_H
#define BK_WORLD_LINUX_STAGE_H

#include "world/on-linux/journal.h"

/* Makes copies of what is to be kept, beside the real files: a second name of the same file where
 * that is possible. Times, modes, owners, attributes, holes and hard links stay. */

struct linked; /* files with several names that were copied already */

struct stage {
    const struct world *w;
    const struct changes *c;
    int folders[WORLD_PLACES]; /* PLACE/.buckle-keep-ID, or -1 */
    struct linked *linked;
    size_t nlinked, cap;
};

void stage_start(struct stage *s, const struct world *w, const struct changes *c);
void stage_end(struct stage *s);

/* Creates PLACE/.buckle-keep-ID if it is missing. */
int stage_folder(struct stage *s, size_t place);

/* Makes operation `i`. Returns 0 or a negative errno. *at: the row that failed. */
int stage_op(struct stage *s, struct op *o, size_t i, size_t *at);

#endif
