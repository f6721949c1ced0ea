/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_RESOLVE_H
#define BK_KERNEL_JUDGE_RESOLVE_H

#include <sys/stat.h>

#include "kernel/judge/request.h"

/* From a path that the target gave to a pinned object. These return 0 or a negative errno. */

struct pinned {
    int fd;           /* the object (O_PATH), or -1 if only its folder is pinned */
    int parent;       /* the folder (O_PATH), or -1 if only the object is pinned */
    bool found;       /* the object exists */
    bool guarded;     /* a sentry is on its very name, and is not in the plan */
    bool procfs;      /* it, or its folder, is in a procfs */
    bool lent;        /* the folder is kept for other calls (caller-folder.c), and is not closed */
    const char *name; /* last component in the copied string, with trailing slashes */
    const char *path; /* canonical path of the object, existing or not; may lack a leading / */
    size_t path_len;
    struct stat st; /* of the object, if it exists */
};

void pinned_close(struct pinned *p);
/* Takes the folder, to close it. Returns a descriptor, or -1. */
int pinned_take_parent(struct pinned *p);
#define OWN_pinned pinned_close

enum {
    PIN_NOFOLLOW = 1,
    PIN_EMPTY = 2, /* an empty path means the descriptor itself */
    PIN_QUICK = 4, /* if the first walk finds nothing, there is nothing */
};

/* dirfd and path are as the target gave them. slot, 0 or 1: which of the judge's buffers to use. */

/* The object must exist. */
int pin_object(struct judge *j, const struct request *r, int dirfd, uint64_t path, unsigned flags,
               int slot, struct pinned *out);
/* The folder must exist, the object need not. Fills in found and st, but does not pin the object.
 */
int pin_parent(struct judge *j, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
/* As pin_parent(), but leaves found and st to pin_stat(). */
int pin_folder(struct judge *j, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
int pin_stat(const struct judge *j, struct pinned *out);
/* The same for a path that was copied as part of something else. */
int pin_object_copied(struct judge *j, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
int pin_parent_copied(struct judge *j, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
/* The same for the path in the judge's buffer, from a folder of ours. May take over *base, which is
 * -1 then. */
int pin_parent_at(struct judge *j, const struct request *r, int *base, int slot,
                  struct pinned *out);
/* Pins the object that was found in a pinned folder, and describes it again. */
int pin_found(struct judge *j, const struct request *r, int slot, struct pinned *p);
/* Pins what a descriptor of the target refers to. */
int pin_descriptor(struct judge *j, const struct request *r, int fd, int slot, struct pinned *out);
/* Fills in path and st of an object that is already pinned in out->fd. */
int pin_describe(struct judge *j, const struct request *r, int slot, struct pinned *out);

#endif
