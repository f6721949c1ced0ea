/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_FILE_NAMES_H
#define BK_KERNEL_HOST_FILE_NAMES_H

#include "graph/eval.h"
#include "kernel/host/mounts.h"

/*
 * All that a file is called, for whoever asks the policy about it: what other mounts call it, and
 * what its file system takes for the same name. One for each process that asks.
 */
struct file_names {
    struct mounts_view mounts;
    struct mount_names names; /* of the path asked about last; one more than fit: too many */
    size_t hidden;            /* of these, so many at the end */
    const struct graph *of;   /* whose policy this is, without regard to case: */
    struct graph *folded;     /* made when the first file is asked about that needs it */
    struct graph_cache *cache;
    char text[MOUNT_PATH];
    char inner[MOUNT_NAMES][MOUNT_PATH]; /* other names, folded */
};

enum { NAMING_FACTS = MOUNT_NAMES };

/* Takes a mountinfo file over. `like` knows what folds already, and may be NULL. */
void file_names_open(struct file_names *n, int fd, const struct mounts_view *like);

/* Appends what else a path is called, at most NAMING_FACTS. How many. They are valid until the next
 * call. */
size_t file_names_facts(struct file_names *n, const char *path, size_t len, struct graph_fact *out);

/* What the policy says; the first fact is the path, and file_names_facts() was called for it. What
 * is denied by a hidden name, or when case is not regarded, is denied; neither allows anything. */
struct graph_verdict file_names_eval(struct file_names *n, const struct graph *g,
                                     struct graph_cache *cache, const struct graph_query *q);

#endif
