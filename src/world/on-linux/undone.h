/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_UNDONE_H
#define BK_WORLD_LINUX_UNDONE_H

#include "world/on-linux/journal.h"

/*
 * Files that were moved and moved back when a world_keep() was undone, and folders whose times were
 * set back, have a later ctime, as if somebody else had changed them. Their ctimes are written down
 * in the world's folder, as `undone`: as long as a file has this one, nobody has changed it since.
 */
struct undone {
    struct undone_file {
        uint64_t dev, ino;
        struct timespec changed;
    } * at;
    size_t n;
};

/* After the operations were taken back: only what looks as it did when it was compared counts. */
void undone_note(const struct world *w, const struct ops *ops);
/* Without memory it has none, and keeping is refused. Free with undone_free(). */
void undone_read(const struct world *w, struct undone *u);
void undone_free(struct undone *u);
#define OWN_undone undone_free
/* u: or NULL */
bool undone_has(const struct undone *u, const struct stat *st);

#endif
