/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_RESOLVE_H
#define BK_KERNEL_JUDGE_RESOLVE_H

#include "kernel/judge/judge.h"

/* From a name that the target gave to a pinned object. */

struct pinned {
    int fd;           /* the object (O_PATH), or -1 when only its folder was asked for */
    int parent;       /* the folder (O_PATH), or -1 when only the object was asked for */
    bool found;       /* there is an object */
    bool procfs;      /* it, or its folder, lies in a procfs */
    const char *name; /* last component in the copied string, with trailing slashes */
    const char *path; /* canonical path of object or would-be object; not always starting with / */
    size_t path_len;
    struct stat st; /* of the object when there is one */
};

void pinned_close(struct pinned *p);
#define OWN_pinned pinned_close

enum {
    PIN_NOFOLLOW = 1,
    PIN_EMPTY = 2, /* an empty path means the descriptor itself */
    PIN_QUICK = 4, /* when it is not found at once it is not there */
};

/* dirfd and path as the target gave them; slot 0 or 1 says which of the judge's buffers to use.
 * 0 or a negated errno. pin_object: the object must exist. pin_parent: the folder must exist, the
 * object need not; it is looked at and not pinned. */
int pin_object(struct judge *w, const struct request *r, int dirfd, uint64_t path, unsigned flags,
               int slot, struct pinned *out);
int pin_parent(struct judge *w, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
/* As pin_parent, but the object is not looked at: pin_look() does that. */
int pin_folder(struct judge *w, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
int pin_look(const struct judge *w, struct pinned *out);
/* The same for a path that was copied from the target as part of something else. */
int pin_object_copied(struct judge *w, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
int pin_parent_copied(struct judge *w, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
/* The path that stands in the judge's buffer already, from a folder of ours, which may be taken
 * over (*base is -1 then). */
int pin_parent_at(struct judge *w, const struct request *r, int *base, int slot,
                  struct pinned *out);
/* Pins, and describes anew, the object that was found in a pinned folder. */
int pin_found(struct judge *w, const struct request *r, int slot, struct pinned *p);
/* An open descriptor of the target. */
int pin_descriptor(struct judge *w, const struct request *r, int fd, int slot, struct pinned *out);
/* Fills path and st of an object already pinned in out->fd. */
int pin_describe(struct judge *w, const struct request *r, int slot, struct pinned *out);

#endif
