/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_FOLDERS_H
#define BK_KERNEL_JUDGE_OWN_FOLDERS_H

#include "kernel/judge/path-set.h"

/*
 * Folders that the command created, with everything below: protected names of editors, agents,
 * shells and tools may be written there, because nobody had a project there before. default.sb asks
 * for the extension "buckle.own-folder".
 *
 * A folder is not the command's own if a folder that was not its own had the same path before:
 * moving the user's folder aside and copying it back must not free what is protected in it. Paths
 * of such folders, once the command has removed or moved them, are foreign for the rest of the run,
 * and so is everything below. A foreign folder that moves into an own one stays foreign.
 *
 * A folder whose name begins with a dot is never the topmost own one: it may be the first part of a
 * protected name (.claude of .claude/settings.json).
 *
 * Both sets have a fixed size. If one is full, later folders are not the command's own.
 */
struct own_folders {
    struct path_set own; /* the topmost folders */
    uint64_t *foreign;   /* a hash table of paths; a collision only denies more */
    uint32_t nforeign;
    bool full;      /* of foreign paths */
    bool replacing; /* the symlink being judged leads from a foreign path to an own folder */
};

/* o is zeroed. Returns 0, or -1 without memory. */
int own_folders_init(struct own_folders *o);

/* Whether head + tail is below an own folder; the folder itself is a name in somebody else's.
 * Either part may be empty. */
bool own_folders_cover(const struct own_folders *o, const char *head, size_t nhead,
                       const char *tail, size_t ntail);
/* Whether the path is an own folder or below one. */
bool own_folders_contain(const struct own_folders *o, const char *path, size_t len);
/* Whether a folder that appears at this path is the command's own. */
bool own_folders_may_begin(const struct own_folders *o, const char *path, size_t len);
/* Whether a folder that was not the command's own had this path. */
bool own_folders_replaced(const struct own_folders *o, const char *path, size_t len);

/* Call these after the command has created, removed or moved a folder, or exchanged two names of
 * which at least one is a folder. */
void own_folders_created(struct own_folders *o, const char *path, size_t len);
void own_folders_removed(struct own_folders *o, const char *path, size_t len);
void own_folders_moved(struct own_folders *o, const char *from, size_t nfrom, const char *to,
                       size_t nto);
void own_folders_exchanged(struct own_folders *o, const char *one, size_t n, const char *other,
                           size_t m);

#endif
