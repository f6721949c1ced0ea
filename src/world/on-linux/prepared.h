/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_PREPARED_H
#define BK_WORLD_LINUX_PREPARED_H

#include "world/on-linux/journal.h"

/* Makes copies of what is to be kept, beside the real files: a second name of the same file where
 * that is possible. Times, modes, owners, attributes, holes and hard links stay. */

struct linked; /* files with several names that were copied already */

struct prepared {
    const struct world *w;
    const struct changes *c;
    int folders[WORLD_PLACES]; /* PLACE/.buckle-keep-ID, or -1 */
    struct linked *linked;
    size_t nlinked, cap;
};

void prepare_start(struct prepared *s, const struct world *w, const struct changes *c);
void prepare_end(struct prepared *s);

/* Creates PLACE/.buckle-keep-ID if it is missing. */
int prepare_folder(struct prepared *s, size_t place);

/* Makes operation `i`. Returns 0 or a negative errno. *at: the row that failed. */
int prepare_op(struct prepared *s, struct op *o, size_t i, size_t *at);

#endif
