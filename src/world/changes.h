/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_CHANGES_H
#define BK_WORLD_CHANGES_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "world/world.h"

/* What is different in a world, as a sorted list. */

enum change_kind { CHANGE_ADDED, CHANGE_CHANGED, CHANGE_REMOVED, CHANGE_FOLDER };

enum {
    DIFFERS_CONTENT = 1 << 0,
    DIFFERS_MODE = 1 << 1,
    DIFFERS_OWNER = 1 << 2,
    DIFFERS_XATTR = 1 << 3,
    DIFFERS_TIME = 1 << 4,
    DIFFERS_TYPE = 1 << 5,
    DIFFERS_LINKS = 1 << 6, /* it has other names in the world */
};

enum {
    MARK_EXECUTABLE = 1 << 0, /* it was not */
    MARK_SET_ID = 1 << 1,     /* it was not */
    MARK_LINK_OUT = 1 << 2,   /* a symlink that leads out of the place */
    MARK_LEFT_OUT = 1 << 3,   /* a socket, a pipe, a device, or it cannot be read: never kept */
    MARK_CONFLICT = 1 << 4,   /* it has changed outside as well */
    MARK_SPLIT = 1 << 5,      /* the real file has other names, which keep the old content */
    MARK_PROTECTED = 1 << 6,  /* `protected` says which class; without one it is never kept */
};

struct change {
    const char *path; /* in the place; "" is the place itself */
    uint16_t place;   /* index in world.places */
    uint8_t kind;
    uint8_t marks, differs;
    uint8_t protected; /* enum protected_class */
    /* It is put into place by itself; else it comes with a folder above it. */
    bool root;
    /* In a comparison with a checkpoint: where both sides are, if not the real folder and the
     * world. */
    bool old_since, new_real;
    bool copied;       /* the layer copied it from the real one, and then it was changed */
    uint32_t old_mode; /* 0: there is none */
    uint32_t new_mode;
    uint32_t links;     /* of the new one */
    uint64_t ino;       /* of the new one */
    uint32_t origin[2]; /* if copied: one of them is half of the real one's inode number; or 0 */
    const char *from;   /* the name that it had, which is removed; or NULL */
    uint64_t old_ino;
    uint32_t old_links;
    uint64_t old_size, new_size;
};

struct changes {
    struct arena arena;
    struct change *at;
    size_t n, cap;
    size_t left_out, conflicts;
};

/* The class of protected names that a change of an absolute path has (vocab/protected-classes.h):
 * PROTECTED_NO_CLASS if it is protected and has none, WORLD_PLAIN if it is not. */
enum { WORLD_PLAIN = 255 };
typedef unsigned world_classify_fn(void *arg, const char *path, const struct change *c);

/* CHANGE_FOLDER rows are folders that stay where they are: only their own mode, owner, attributes
 * or times may differ, or nothing. Free with changes_free() whatever happened. */
int changes_read(const struct world *w, world_classify_fn *classify, void *arg, struct changes *out,
                 struct bk_err *err);
/* What has changed since a checkpoint (checkpoints.h), of two lists against the real folder: *since
 * is the world as it was then, *now as it is, or was later. */
int changes_between(const struct world *w, struct changes *since, const struct changes *now,
                    struct changes *out, struct bk_err *err);
void changes_free(struct changes *c);
#define OWN_changes changes_free

/* Whether people want to see it: not a folder in which only something else has changed. */
static inline bool change_is_shown(const struct change *c)
{
    return c->kind != CHANGE_FOLDER || (c->differs & ~DIFFERS_TIME);
}

/* Both sides of a changed regular file, to compare them. -1: there is none. */
int change_open_old(const struct world *w, const struct change *c);
int change_open_new(const struct world *w, const struct change *c);
/* Whether there is something at a path of a place: in the world, where what it has removed may
 * still count, or below it. */
bool change_finds(const struct world *w, uint16_t place, const char *path, struct stat *st);
/* Whether it was there before. */
bool change_found(const struct world *w, uint16_t place, const char *path);
/* Adds what is in the old folder, as far as it can be read and up to a million names. */
void change_count_old(const struct world *w, const struct change *c, size_t *files, size_t *folders,
                      uint64_t *bytes);

#endif
