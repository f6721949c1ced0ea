/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_JOURNAL_H
#define BK_WORLD_LINUX_JOURNAL_H

#include <stdint.h>
#include <sys/stat.h>

#include "world/changes.h"

/*
 * The operations of one world_keep(), in memory and in the world's journal:
 *
 *     buckle-keep 1
 *     whole                       the world is removed at the end
 *     op n 0 STAGED 0 … PATH      one line each; inode numbers, times, and the path in hexadecimal
 *     seen I MODE INODE UID GID SIZE TIME   how the real one of operation I looked
 *     ready                       the real files change from here on
 *     done                        all are in place; only cleaning up is left
 *
 * Operation I has the name I in .buckle-keep-ID: what is to be put into place, and later what was
 * taken out. Exchanges are atomic, so the inode numbers there say which of the two it is.
 */
enum op_kind {
    OP_NEW = 'n',      /* nothing is there */
    OP_EXCHANGE = 'x', /* something else is there */
    OP_REMOVE = 'r',
    OP_FOLDER = 'f', /* mode, owner, attributes and times of a folder; I exists if they differ */
};

struct op {
    char kind;
    bool dressed;            /* OP_FOLDER: more than the times differ */
    uint16_t place;          /* index in world.places */
    const char *path;        /* in the place */
    uint64_t staged, old;    /* inode numbers; 0: none */
    struct timespec was, is; /* OP_FOLDER: its time before and afterwards */
    struct stat seen;        /* the real one, when it was compared; of a journal, a part of it */
    /* only in memory: */
    size_t first, rows; /* of the list: the change, and what is in it */
};

struct ops {
    struct op *at;
    size_t n, cap;
    struct arena arena; /* paths that were read from a journal */
    bool whole;
};

/* A new one at the end, all zero; NULL: there is no memory. */
struct op *ops_add(struct ops *ops);

enum { STAGING_NAME = 48, OP_NAME = 24 };
void staging_name(const struct world *w, char out[STAGING_NAME]);
void op_name(size_t i, char out[OP_NAME]);

/* Each writes through to the disk, and returns 0 or a negative errno. */
int journal_write(const struct world *w, const struct ops *ops, bool ready);
int journal_done(const struct world *w);

/* Takes operations back, the last one first, as far as they were performed; then removes what was
 * staged, and the journal. Never overwrites anything. */
void journal_undo(const struct world *w, const struct ops *ops);
/* All are in place: sets what folders look like, and removes the old files, what was kept from the
 * world, and the journal. Closes a world that is removed. */
void journal_finish(struct world *w, const struct ops *ops);

/* Does one of the two, if there is a journal. */
int journal_recover(struct world *w, struct bk_err *err);

/* The mode, owner and attributes of one file for another. */
int look_copy(int from, int to, const struct stat *st);
/* The same for folders, with their times. Takes what beneath_open() returned. */
int look_copy_folder(int from, int to);

#endif
