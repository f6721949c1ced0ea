/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_RELATION_H
#define BK_KERNEL_JUDGE_RELATION_H

#include "kernel/judge/judge.h"

/* What another process is to the caller. */

/* Bits by the numbers of (target …). A process is several of these at once. */
enum {
    RELATION_SELF = 1 << 1,
    RELATION_GROUP = 1 << 2,  /* the same process group */
    RELATION_OTHERS = 1 << 3, /* everybody but itself */
    RELATION_CHILD = 1 << 4,  /* a descendant */
    RELATION_SANDBOX = 1 << 5,
    RELATION_INIT = 1 << 6, /* the first process */
};

/* pid as the caller would name it: a process or a thread, 0 for itself. -ESRCH when there is none,
 * or another negated errno. True of the moment: numbers are used again. */
int relation_of(const struct judge *w, const struct request *r, pid_t pid);

/* Asks about every process of a set, until one answer is negative. -ESRCH when it is empty. */
enum relation_set {
    WHO_GROUP,
    WHO_OWN_GROUP, /* without those of it that are not of the sandbox */
    WHO_EVERYBODY,
};
typedef int relation_fn(struct judge *w, const struct request *r, int relation, pid_t pid,
                        const void *arg);
int relation_each(struct judge *w, const struct request *r, enum relation_set set,
                  pid_t group /* 0: the caller's own */, relation_fn *ask, const void *arg);

/* Signals the members of the caller's group that are of its sandbox. The command shares its group
 * with whoever started it, namespaces notwithstanding. */
int relation_signal_group(const struct judge *w, const struct request *r, int sig);

/* Parent and group of a process, by the numbers of a procfs; 0 or -ESRCH. */
int relation_kin(int proc, pid_t pid, pid_t *parent, pid_t *group);

/* (target …) and (target pid …) as facts. */
enum { RELATION_FACTS = 7 };
size_t relation_facts(int relation, pid_t pid, struct graph_fact *f);

/* Tells of something that is refused whatever the policy says of it. */
void report_refused(struct judge *w, const struct request *r, enum vocab_op op, const char *what);
void report_refused_as(struct judge *w, const struct request *r, enum vocab_op op, const char *what,
                       int err);

#endif
