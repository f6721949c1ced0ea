/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_RELATION_H
#define BK_KERNEL_JUDGE_RELATION_H

#include "kernel/judge/request.h"

/* How another process is related to the caller. */

struct graph_fact;

/* A process that sandboxed itself (launch/apply-self.c). */
struct applied {
    pid_t pid; /* 0: a command was run instead */
    int fd;    /* a pidfd of it */
};

/* Bits by the numbers of (target ...). A process can be several of these. */
enum {
    RELATION_SELF = 1 << 1,
    RELATION_GROUP = 1 << 2,  /* the same process group */
    RELATION_OTHERS = 1 << 3, /* any process except itself */
    RELATION_CHILD = 1 << 4,  /* a descendant */
    RELATION_SANDBOX = 1 << 5,
    RELATION_INIT = 1 << 6, /* the sandbox's init */
};

/* pid: a process or thread in the caller's numbers; 0: the caller itself. Returns the bits, -ESRCH
 * if there is no such process, or another negative errno. Pids are reused: the answer holds only
 * for the moment. */
int relation_of(const struct judge *j, const struct request *r, pid_t pid);

/* Appends the name of that process's program to `out`, which ends with NUL; nothing if it is
 * unknown. */
void relation_name_program(const struct judge *j, const struct request *r, pid_t pid, char *out,
                           size_t cap);

/* Calls ask() for every process of a set until it returns a negative errno. Returns that, 0, or
 * -ESRCH if the set is empty. */
enum relation_set {
    EACH_OF_GROUP,
    EACH_OF_OWN_GROUP, /* only members that are in the sandbox */
    EACH_PROCESS,
};
typedef int relation_fn(struct judge *j, const struct request *r, int relation, pid_t pid,
                        const void *arg);
int relation_each(struct judge *j, const struct request *r, enum relation_set set,
                  pid_t group /* 0: the caller's own */, relation_fn *ask, const void *arg);

/* Signals the members of the caller's group that are in its sandbox. The command shares its group
 * with the process that started it, in spite of namespaces. Returns 0 or a negative errno. */
int relation_signal_group(const struct judge *j, const struct request *r, int sig);

/* Reads parent and group of a process from a procfs. Returns 0, 1 if the process (or its first
 * thread) has exited and only waits for its parent, or -ESRCH. */
int relation_read_stat(int proc, pid_t pid, pid_t *parent, pid_t *group);

/* Fills in (target ...) and (target pid ...) as facts; returns how many. */
enum { RELATION_FACTS = 7 };
size_t relation_facts(int relation, pid_t pid, struct graph_fact *f);

#endif
