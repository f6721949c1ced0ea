/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_FOLDERS_H
#define BK_KERNEL_JUDGE_OWN_FOLDERS_H

#include <sys/stat.h>

#include "kernel/judge/path-set.h"
#include "kernel/judge/request.h"
#include "command/own-record.h"

/*
 * Folders that the command created, with everything below: protected names of editors, agents,
 * shells and tools may be written there, because nobody had a project there before. protected.sb
 * asks for the extension "buckle.own-folder".
 *
 * A folder is not the command's own if a folder that was not its own had the same path before:
 * moving the user's folder aside and copying it back must not free what is protected in it. Paths
 * of such folders, once the command has removed or moved them, are foreign for the rest of the run,
 * and so is everything below. A foreign folder that moves into an own one stays foreign. Folders of
 * dependencies (node_modules) are excepted: package managers replace what is in there, and nobody
 * works in them.
 *
 * A folder whose name begins with a dot is never the topmost own one: it may be the first part of a
 * protected name (.claude of .claude/settings.json).
 *
 * Later runs find own folders, and foreign paths, in the record (own-record.h). Paths of folders
 * that are in it are added to the set when the judge meets them. A folder in the set is own only as
 * long as the record says so, too: the user may adopt it meanwhile, or replace it.
 *
 * Both sets have a fixed size. If one is full, later folders are not the command's own.
 */
enum { OWN_VACATED = 1024 };

struct own_folders {
    struct path_set own; /* the topmost folders */
    uint64_t *foreign;   /* a hash table of paths; a collision only denies more */
    uint32_t nforeign;
    bool full;       /* of foreign paths */
    bool replacing;  /* the symlink being judged leads from a foreign path to an own folder */
    bool wanted;     /* the policy asks about own folders */
    int record;      /* or -1 */
    const char *cwd; /* where the user started the run; "" if nowhere */
    int64_t started; /* as folder_id.born */
    char checked[PATH_BYTES]; /* a folder that is not in the record, nor is one above it */
    size_t nchecked;
    struct vacated_path {
        uint64_t hash, parent;
    } vacated[OWN_VACATED]; /* the last paths that went into the record */
    uint32_t nvacated;
};

/* o is zeroed. Takes over the record's descriptor. Returns 0, or -1 without memory. */
int own_folders_init(struct own_folders *o, int record, const char *cwd);

/* Whether head + tail is below an own folder; the folder itself is a name in somebody else's.
 * Either part may be empty. */
bool own_folders_cover(struct own_folders *o, const char *head, size_t nhead, const char *tail,
                       size_t ntail);
/* Whether the path is an own folder or below one. */
bool own_folders_contain(struct own_folders *o, const char *path, size_t len);
/* Whether a folder that appears at this path is the command's own. */
bool own_folders_may_begin(const struct own_folders *o, const char *path, size_t len);
/* Whether package managers replace what is at this path. */
bool own_folders_is_dependency(const struct own_folders *o, const char *path, size_t len);
/* Whether a folder that was not the command's own had this path. */
bool own_folders_replaced(const struct own_folders *o, const char *path, size_t len);

/* Whether the record has marks, so that the next one need be called. */
bool own_folders_has_record(const struct own_folders *o);
/* Call this for every folder below one that is about to move: it may be in the record. */
void own_folders_notice(struct own_folders *o, int parent, const char *name, const struct stat *st,
                        const char *path, size_t len);
/* Call this before a folder moves or is exchanged. It forgets marks that must not arrive there.
 * Returns 0, or a negative errno if that is impossible. */
struct own_move {
    const char *from, *to;
    size_t nfrom, nto;
    int parent; /* of `from` */
    const char *name;
    bool exchange;
    bool own, replaced_own; /* set: what is at `from` and `to` */
    bool lasting;           /* set: somebody else's folder leaves `from` */
};
int own_folders_before_move(struct own_folders *o, struct own_move *m);

/* Call this before a folder is removed. */
struct own_removal {
    bool own, lasting;
    struct folder_id id; /* if its mark goes with it */
};
struct own_removal own_folders_before_removal(struct own_folders *o, int parent, const char *name,
                                              const char *path, size_t len);

/* Call these after the command has created, removed or moved a folder, or exchanged two names of
 * which at least one is a folder. parent and name: where it is now. */
void own_folders_created(struct own_folders *o, int parent, const char *name, const char *path,
                         size_t len);
void own_folders_removed(struct own_folders *o, const char *path, size_t len,
                         const struct own_removal *what);
void own_folders_moved(struct own_folders *o, int parent, const char *name,
                       const struct own_move *m);
void own_folders_exchanged(struct own_folders *o, const struct own_move *m);

#endif
