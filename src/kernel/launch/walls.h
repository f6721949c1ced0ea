/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_WALLS_H
#define BK_KERNEL_LAUNCH_WALLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/plan/plan.h"
#include "kernel/sentry/sentry-process.h"

/*
 * The walls, one function each. They run between fork and exec: none allocates, and each returns 0
 * or a negative errno for the parent to word.
 */

/* Builds the ruleset of the plan's walls: *fd, or -1 if there are none. Opens the paths as they are
 * now; a missing one is replaced by its nearest ancestor. proc: the host's procfs, which the judge
 * must be able to read, or -1. Rules apply to the real files under sentries, not to the sentries.
 */
struct layers; /* mounted, or NULL */
int landlock_walls(const struct plan *p, const struct guarded_paths *b, const struct layers *l,
                   int proc, int *fd);
/* Builds the ruleset of the command's own layer: what it may not reach outside. The judge must not
 * have it, or it could no longer kill init. -1 if the plan has none. */
int landlock_scope(const struct plan *p, int *fd);
int landlock_enter(int fd); /* adds a layer to the calling thread; fd -1 does nothing */

/* POSIX shared memory is files in /dev/shm, which the host's programs share. Mounts a new one,
 * unless the command works there. */
int private_shared_memory(const char *cwd);
/* The queues in /dev/mqueue belong to the ipc namespace of the mount, not of the process that opens
 * them. Mounts it anew. Call it in a new ipc namespace. */
int private_queues(void);

/* Drops every capability except those to keep (capabilities.h): first from the bounding set, which
 * children inherit and from which programs gain, then from the process. */
void capabilities_bound(uint64_t keep);
int capabilities_drop(uint64_t keep);
/* The idle ones are not used. But a process that lacks one of them cannot trace us or read our
 * memory. */
int capabilities_rest(uint64_t keep, uint64_t idle);

/* Limits core dumps, unless the plan allows them. Returns 0 or a negative errno. */
int limit_core(const struct plan *p);

/* Installs the filter. *listener gets the notification file descriptor if the plan judges. */
int filter_install(const struct plan *p, const struct sock_filter *prog, size_t n, int *listener);

/* Maps exactly our own ids in a new user namespace. */
int map_own_ids(uid_t uid, gid_t gid);

/*
 * If root mapped only itself, it would lose access to all other users' files. So where it may, it
 * maps every id that it has. Only a process outside the new namespace can do that: the parent does
 * it while its child waits.
 */
struct id_maps {
    int wait[2]; /* a pipe; -1 if the process maps its own ids */
};
/* Call it before the process is made: user_ns says whether it gets a user namespace. */
int id_maps_open(struct id_maps *m, bool user_ns);
int id_maps_give(struct id_maps *m, pid_t pid);            /* in the parent; closes */
int id_maps_take(struct id_maps *m, uid_t uid, gid_t gid); /* in the child */

int loopback_up(void);

/* Inherited file descriptors that bypass the sandbox: folders, sockets and devices above 2, unless
 * kept. They are listed before the filter is installed and closed after it. */
enum { INHERITED_MAX = 1024 };

struct inherited {
    const int *keep;
    size_t nkeep, n;
    bool unknown; /* they could not be listed */
    int fds[INHERITED_MAX];
};

void inherited_list(struct inherited *in, const int *keep, size_t nkeep);
void inherited_close(const struct inherited *in);

#endif
