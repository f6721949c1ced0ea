/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_WALLS_H
#define BK_KERNEL_LAUNCH_WALLS_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/plan/plan.h"
#include "kernel/sentry/sentry-process.h"

/*
 * The walls, one function each. They are called between fork and exec: none allocates, and each
 * returns 0 or a negated errno for the parent to word.
 */

/* Builds the ruleset of the plan's walls: *fd, or -1 when there are none. Paths are opened as they
 * are now; for one that does not exist its nearest ancestor stands in. proc: the host's procfs,
 * which the judge must be able to read, or -1. Rules stand on what lies behind guards, not on
 * those. */
int landlock_walls(const struct plan *p, const struct guarded_paths *b, int proc, int *fd);
/* Builds the ruleset of the command's own layer: what it may not reach outside it. The judge must
 * not have it, or it could no longer end the sandbox's first process. -1 when the plan has none. */
int landlock_scope(const struct plan *p, int *fd);
int landlock_enter(int fd); /* adds a layer to the calling thread; fd -1 does nothing */

/* POSIX shared memory lies in files in /dev/shm, which the host's programs share with each other: a
 * new one, unless the command works there. */
int private_shared_memory(const char *cwd);
/* The queues in /dev/mqueue are those of whoever mounted it, whatever the namespace of the one who
 * opens them: mounts it anew. Called in a new ipc namespace. */
int private_queues(void);

/* Drops every capability but those to keep (capabilities.h), from the bounding set, which children
 * inherit and from which programs gain; and then those that the process has. */
void capabilities_bound(uint64_t keep);
int capabilities_drop(uint64_t keep);
/* The idle ones are not used. But whoever lacks one of them cannot trace us, nor read what we
 * know. */
int capabilities_rest(uint64_t keep, uint64_t idle);

/* What crashes leaves nothing behind, unless the plan has it otherwise; 0 or a negated errno. */
int limit_core(const struct plan *p);

/* Installs the filter. *listener gets the notification descriptor when the plan judges. */
int filter_install(const struct plan *p, const struct sock_filter *prog, size_t n, int *listener);

/* Maps exactly our own ids in a new user namespace. */
int map_own_ids(uid_t uid, gid_t gid);

/*
 * Root that had only itself mapped would lose sight of everybody else's files. So where it may, it
 * maps every id that it has, which only a process outside the new namespace can do: the maker does
 * it while the process it made waits.
 */
struct id_maps {
    int wait[2]; /* a pipe; -1 when the process maps its own ids itself */
};
/* Before the process is made: user_ns says whether it gets a user namespace. */
int id_maps_open(struct id_maps *m, bool user_ns);
int id_maps_give(struct id_maps *m, pid_t pid);            /* in the maker; closes */
int id_maps_take(struct id_maps *m, uid_t uid, gid_t gid); /* in the process that was made */

int loopback_up(void);

/* Inherited descriptors that lead around the sandbox: folders, sockets and devices above 2, unless
 * kept. They are listed before the filter stands and closed after it. */
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
