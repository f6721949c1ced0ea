/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_WORLD_H
#define BK_WORLD_WORLD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

/*
 * A world: what a command wrote while nothing outside changed. Each folder that its policy opens is
 * a place of the world. A layer covers it (kernel/launch/layers.h), and what the command writes
 * goes to the layer's upper side:
 *
 *     STATE/buckle/worlds/ID/about     a line each: seconds.nanoseconds, folder, command
 *     STATE/buckle/worlds/ID/journal   while changes are being kept (journal.h)
 *     STATE/buckle/worlds/ID/0/path    where place 0 is
 *     STATE/buckle/worlds/ID/0/upper   what was written there
 *     STATE/buckle/worlds/ID/0/below/0 what the world below had written, and 1 the one below that
 *     STATE/buckle/worlds/ID/size      in bytes, when a command had ended (room.h)
 *     STATE/buckle/worlds/ID/undone    what an undone keep has touched (undone.h)
 *     STATE/buckle/worlds/ID/unlisted  a command ran whose denied writes are not listed
 *     STATE/buckle/worlds/ID/moves     folders that were renamed: both paths, in hexadecimal
 *     STATE/buckle/worlds/ID/checkpoints, ID/0/checkpoint/1    (checkpoints.h)
 *
 * No command can write there (run/own-rules.h). But commands chose the names and contents of what
 * is in an upper side, so nothing in it is trusted.
 */

/* All worlds together: no other begins when they have more. */
#define WORLDS_BYTES ((uint64_t)16 << 30)

enum { WORLD_ID = 16, WORLD_PLACES = 64, WORLD_BELOW = 8 };

struct world_place {
    int number;
    char *path;       /* absolute and canonical */
    int upper, lower; /* what was written, and the real folder; -1: it is gone */
    /* What the worlds below had written when this one began, the newest first, and what the next
     * one below has now; -1: it is gone. */
    int below[WORLD_BELOW], parent;
    size_t nbelow;
    int since; /* what was written until a checkpoint, to compare with; -1: nothing */
};

struct world {
    char id[WORLD_ID];
    char folder[PATH_MAX];
    int fd;                /* the folder; it has the lock */
    struct timespec begun; /* what has changed outside since then is a conflict */
    char *cwd, *command;
    char on[WORLD_ID]; /* the world that this one is on top of; empty: none */
    struct world_place places[WORLD_PLACES];
    size_t nplaces;
};

/* Each locks the world until world_close(), and fails if another process uses it. */
/* on: a world to begin with, as it is now; NULL: only the real folders. */
int world_make(struct world *w, const char *cwd, char *const *argv, const char *on,
               struct bk_err *err);
/* Finishes what an interrupted world_keep() began. id: NULL is the newest one. */
int world_open(struct world *w, const char *id, struct bk_err *err);
/* The same to look at it only: then another process may use it, and what is seen is as it is at
 * that moment. */
int world_look(struct world *w, const char *id, struct bk_err *err);
/* Looks again which places there are: a command has run. Waits until it has gone. */
int world_refresh(struct world *w, struct bk_err *err);
int world_refresh_in_use(struct world *w, struct bk_err *err); /* without waiting */
void world_close(struct world *w);
#define OWN_world world_close

/* Whether a command ran in it whose denied writes are not listed. */
bool world_is_unlisted(const struct world *w);

/* Notes how much room it takes. */
void world_measure(const struct world *w);

/* Removes all of it. Nothing outside changes. */
int world_discard(struct world *w, struct bk_err *err);

/* One line of a list. */
struct world_about {
    char id[WORLD_ID];
    struct timespec begun;
    bool used; /* a process uses it */
    char *cwd, *command;
    char on[WORLD_ID]; /* as above */
    uint64_t size;     /* when a command had ended; 0: not known */
};

/* The newest first. Free with worlds_free(). Returns how many. */
size_t worlds_list(struct world_about **out);
void worlds_free(struct world_about *list, size_t n);

/* Finds a world on top of this one. */
bool world_has_above(const char *id, char above[WORLD_ID]);

/* Removes worlds that are older, and then the oldest until the others have at most so many bytes;
 * not those in use. Returns how many. */
size_t worlds_prune(unsigned days, uint64_t bytes);

#endif
