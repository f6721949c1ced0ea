/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_FILE_NAMES_H
#define BK_KERNEL_HOST_FILE_NAMES_H

#include "graph/eval.h"
#include "kernel/host/mounts.h"

/*
 * All names of a file, for a process that checks the policy: the names by way of other mounts, and
 * those that its file system treats as the same. Each such process has one.
 */
struct file_names {
    struct mounts_view mounts;
    struct mount_names names; /* of the path checked last; one more than fit: too many */
    size_t hidden;            /* how many of them, at the end, are hidden */
    const struct graph *of;   /* the policy that `folded` was made from */
    struct graph *folded; /* the policy without regard to case; made when a file first needs it */
    struct graph_cache *cache;
    char text[MOUNT_PATH];
    char inner[MOUNT_NAMES][MOUNT_PATH]; /* other names, folded */
};

enum { FILE_NAME_FACTS = MOUNT_NAMES };

/* Takes ownership of fd, a mountinfo file. `like` has the known folding file systems; may be NULL.
 */
void file_names_open(struct file_names *n, int fd, const struct mounts_view *like);

/* Appends the other names of a path, at most FILE_NAME_FACTS, and returns how many. They stay valid
 * until the next call. */
size_t file_names_facts(struct file_names *n, const char *path, size_t len, struct graph_fact *out);

/* Returns the verdict. The first fact is the path; call file_names_facts() for it first. A hidden
 * or case-folded name can only deny, never allow. */
struct graph_verdict file_names_eval(struct file_names *n, const struct graph *g,
                                     struct graph_cache *cache, const struct graph_query *q);

#endif
