/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_CGROUP_H
#define BK_KERNEL_LAUNCH_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits on the sandbox as a whole, through its own cgroup (version 2). It works where the caller
 * has a delegated part of the tree with the controllers enabled. Elsewhere the launch limits each
 * process.
 */
struct cgroup {
    int fd; /* its folder, or -1 */
    char path[1024];
};

/* root: where the tree is mounted ("/sys/fs/cgroup"); own: the caller's path in it
 * ("/user.slice/…"). Returns false, and leaves nothing behind, if no cgroup can have these limits.
 */
bool cgroup_make_at(struct cgroup *c, const char *root, const char *own, uint64_t memory,
                    uint32_t procs);
/* The same for this process on this host. */
bool cgroup_make(struct cgroup *c, uint64_t memory, uint32_t procs);
void cgroup_remove(struct cgroup *c); /* call it when its processes are gone */

#endif
