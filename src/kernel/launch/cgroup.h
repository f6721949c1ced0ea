/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_CGROUP_H
#define BK_KERNEL_LAUNCH_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits on the sandbox as a whole, through a control group of its own (version 2), where the
 * caller has been given a part of the tree with the controllers switched on. Elsewhere the launcher
 * falls back to limits on each process.
 */
struct cgroup {
    int fd; /* its folder, or -1 */
    char path[1024];
};

/* root: where the tree is mounted ("/sys/fs/cgroup"); own: the caller's place in it
 * ("/user.slice/…"). False when no group with these limits can be had; nothing is left behind then.
 */
bool cgroup_make_at(struct cgroup *c, const char *root, const char *own, uint64_t memory,
                    uint32_t procs);
/* The same for this process on this host. */
bool cgroup_make(struct cgroup *c, uint64_t memory, uint32_t procs);
void cgroup_remove(struct cgroup *c); /* when its processes are gone */

#endif
