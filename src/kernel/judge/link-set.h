/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_LINK_SET_H
#define BK_KERNEL_JUDGE_LINK_SET_H

#include <stdbool.h>
#include <stddef.h>

/* Files with several names in a world. The names of each place are known from its first use on. */

struct judge;
struct request;
struct pinned;
struct link_index;

enum { LINK_PLACES = 64 };

struct link_sets {
    struct link_index *of[LINK_PLACES]; /* by number of the layer; NULL: not known yet */
};

/* Call it before a call changes a file, or gives it another name (linking). If the file is below a
 * world's layer, copies it with all its names, and pins the copy. Otherwise, or if that cannot be
 * done, leaves everything as it is. */
void link_set_copy(struct judge *j, struct pinned *p, bool linking);

/* The same for a name in an open folder; arg: the judge. */
void link_set_copy_at(void *arg, int folder, const char *name);

/* Whether git makes a second name for a file below a layer. It compares inode numbers, and gives up
 * if the copy has another. It copies files that cannot be linked (EXDEV). */
bool link_set_is_gits(const struct judge *j, const struct request *r, const struct pinned *old);

#endif
