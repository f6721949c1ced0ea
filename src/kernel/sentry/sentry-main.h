/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SENTRY_SENTRY_MAIN_H
#define BK_KERNEL_SENTRY_SENTRY_MAIN_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "kernel/host/file-names.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/sentry/sentry.h"

/* Inside the sentry's process: what mounting (sentry-main.c) and watching (watch.c) share. */

struct sentry_place {
    int number; /* of the sentry's point, or -1 */
    int behind; /* what it stands on (O_PATH, in the sandbox's mount table); -1: it stands nowhere
                 */
    uint64_t dev, inode; /* of that, as the host sees it too */
};

struct sentry_process {
    const struct sentries_task *task;
    const struct plan *plan;
    struct sentry *sentry;
    int root, proc; /* the host's; proc becomes the working directory */
    int device;     /* /dev/fuse */
    int fs;         /* the sentries' file system, mounted nowhere */
    bool serving;   /* the other thread runs */
    pthread_t server;
    bool sharing; /* one processor; otherwise we may run on: */
    cpu_set_t processors;
    sem_t settled;               /* it has a table of descriptors of its own */
    bool confined;               /* it gave up what it does not need */
    atomic_bool strangers;       /* from here on requests may be the command's */
    bool ready;                  /* the judge has been told that all guards stand */
    int crowd;                   /* event: the serving thread wants the kernel to forget names */
    struct sentries_there there; /* at the start */
    struct sentry_place stands[PLAN_SENTRIES];
    struct graph_cache *cache; /* masks only */
    struct file_names
        *naming;       /* what else files are called: the serving thread's, or that of masks */
    int mounts, later; /* mountinfo of the sandbox, and of the host: the watching thread's */
    uint64_t dev;      /* of the sentries' file system */
};

/* Puts guard i on what lies under its name now, if anything does; nothing happens when it stands
 * there already. 0 or a negated errno. */
int sentry_process_place_at(struct sentry_process *p, size_t i);

/* The same by a mask (mask.c). */
int sentry_process_mask(struct sentry_process *p, size_t i);
/* All of what lies at a path is masked, unless something lies on it already. 0 or a negated errno.
 */
int sentry_process_hide(struct sentry_process *p, const char *path);

/* A path as the host sees it: a descriptor (O_PATH), or a negated errno. Links lead nowhere: the
 * policy names things as they really lie. */
int sentry_process_open(const struct sentry_process *p, const char *path);
int sentry_process_open_inside(const char *path); /* as the sandbox sees it */
/* Whether there is nothing that could be guarded, nor anything that could be read. */
bool sentry_process_is_nothing(int err);

/* sentry-wall.c: the calling thread gives up everything but its work. 0 or a negated errno. */
int sentry_process_confine(const struct sentry_process *p, bool serving);

/* watch.c: puts guards up again whenever a guarded name comes to mean something else. Returns only
 * when it cannot go on: a negated errno. */
int watch_names(struct sentry_process *p);

#endif
