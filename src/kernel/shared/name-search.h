/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_NAME_SEARCH_H
#define BK_KERNEL_SHARED_NAME_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "graph/eval.h"

/*
 * Searches a folder and all below it for names whose contents the policy denies (struct
 * plan_search). A denied folder is found as a whole: nothing in it is searched.
 */
struct name_search {
    const struct graph *graph;
    struct graph_cache *cache;
    int root; /* where paths begin (O_PATH) */
    uid_t uid;
    gid_t gid;
    size_t left; /* how many more names it may look at */
    /* Called for each denied name. A negative errno ends the search. */
    int (*found)(void *arg, const char *path, size_t len);
    /* Called for each folder before it is looked at. Returns 0, 1 to leave it out, or a negative
     * errno to end the search. May be NULL. */
    int (*folder)(void *arg, const char *path);
    void *arg;
    bool lenient; /* a folder that cannot be read is left out, and noted here: */
    bool closed;
    struct name_recorder *recorder; /* gets what is found; or NULL */
    /* its own */
    const struct name_recall *recall;
    uint64_t device; /* of the last file system that was checked */
    char *pending;   /* folders to search, one after the other, each with its NUL */
    size_t npending, room;
};

/* The most names that a launch looks at, and of those that may be denied: a search takes about a
 * millisecond for 2,000. */
enum { NAME_SEARCH_MAX = 20000, NAME_SEARCH_FOUND = 512 };

/* Whether the policy denies the contents of something of this type, or wants a report. */
bool name_search_denies(const struct name_search *s, const char *path, size_t len, mode_t type);

/* Searches what is at a path, and all below it. Returns 0, also if nothing is there; or a negative
 * errno: -E2BIG if there are too many names, -EACCES if a folder cannot be read, -EXDEV for a file
 * system that may change without notice, and those of the callbacks. */
int name_search(struct name_search *s, const char *path, size_t len);
/* Whether a launch could search all these folders. */
bool name_search_fits(const struct graph *g, const char *const *paths, size_t n);
void name_search_free(struct name_search *s);

/* ---- what a search found, to be used again ---- */

/* A folder as it was when it was searched. As long as neither its inode nor its ctime differs, it
 * has the same names. */
struct name_folder {
    const char *path;
    uint64_t dev, ino;
    int64_t sec;
    uint32_t nsec; /* 0 and sec 0: it had just changed, and must be searched again */
};

struct name_record {
    uint32_t nfolders, nnames;
    struct name_folder *folders;
    const char **names; /* those that are denied */
    uint32_t *in;       /* the folder of each */
    int64_t too_big;    /* until this time there is nothing else: it was too much to search */
};

/* A record that grows. */
struct name_recorder {
    struct name_record record;
    uint32_t folders_room, names_room;
    int64_t began; /* seconds */
    bool failed;   /* not all of it is there */
};

void name_recorder_begin(struct name_recorder *r);
void name_recorder_free(struct name_recorder *r);

bool name_record_has(const struct name_record *r, const char *path);

/* Like name_search(), for all that was searched then: only folders that changed since are read.
 * Sets *changed if there are any. */
int name_search_again(struct name_search *s, const struct name_record *r, bool *changed);

#endif
