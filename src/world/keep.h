/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_KEEP_H
#define BK_WORLD_KEEP_H

#include "base/buf.h"
#include "world/changes.h"

/*
 * Keeping changes: all that were chosen, or nothing. Everything is made beside the real files
 * first, in PLACE/.buckle-keep-ID, which no command can write. Then each is exchanged with the real
 * one by a rename. What has changed outside meanwhile is never overwritten.
 *
 * A journal says what belongs where, by inode numbers. If the process is killed at any point, the
 * next world_open() undoes all of it, or finishes it if everything was in place already.
 */
struct keep_request {
    const char *const *paths; /* absolute; nothing else is kept */
    size_t npaths;            /* 0: everything */
    unsigned classes;         /* of protected names that may change: bits 1 << class */
};

/* Returns how many rows of the list were kept, or -1. If the world is empty then, it is removed and
 * w->fd is -1. *why: what is in the way, a line each; may be NULL. */
long world_keep(struct world *w, struct changes *c, const struct keep_request *q, struct buf *why,
                struct bk_err *err);

/* For tests: called before each step that changes something. NULL: nothing. */
extern void (*world_keep_step)(void);

#endif
