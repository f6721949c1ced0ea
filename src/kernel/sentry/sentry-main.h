/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SENTRY_SENTRY_MAIN_H
#define BK_KERNEL_SENTRY_SENTRY_MAIN_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "kernel/sentry/sentry-process.h"
#include "kernel/host/file-names.h"
#include "kernel/sentry/sentry.h"

/* Inside the sentry's process: what mounting (sentry-main.c) and watching (watch.c) share. */

struct stand {
    int number; /* of the sentry's point, or -1 */
    int behind; /* what it stands on (O_PATH, in the sandbox's mount table); -1: it stands nowhere
                 */
    uint64_t dev, inode; /* of that, as the host sees it too */
};

struct post {
    const struct guards_task *task;
    const struct plan *plan;
    struct sentry *sentry;
    int root, proc; /* the host's; proc becomes the working directory */
    int device;     /* /dev/fuse */
    int fs;         /* the sentries' file system, mounted nowhere */
    bool serving;   /* the other thread runs */
    pthread_t server;
    bool sharing; /* one processor; otherwise we may run on: */
    cpu_set_t processors;
    sem_t settled;             /* it has a table of descriptors of its own */
    bool confined;             /* it gave up what it does not need */
    atomic_bool strangers;     /* from here on requests may be the command's */
    bool ready;                /* the worker has been told that all guards stand */
    int crowd;                 /* event: the serving thread wants the kernel to forget names */
    struct guards_there there; /* at the start */
    struct stand stands[PLAN_GUARDS];
    struct graph_cache *cache; /* masks only */
    struct naming *naming; /* what else files are called: the serving thread's, or that of masks */
    int mounts, later;     /* mountinfo of the sandbox, and of the host: the watching thread's */
    uint64_t dev;          /* of the sentries' file system */
};

/* Puts guard i on what lies under its name now, if anything does; nothing happens when it stands
 * there already. 0 or a negated errno. */
int post_stand(struct post *p, size_t i);

/* The same by a mask (mask.c). */
int post_mask(struct post *p, size_t i);
/* All of what lies at a path is masked, unless something lies on it already. 0 or a negated errno.
 */
int post_hide(struct post *p, const char *path);

/* A path as the host sees it: a descriptor (O_PATH), or a negated errno. Links lead nowhere: the
 * policy names things as they really lie. */
int post_open(const struct post *p, const char *path);
int post_open_inside(const char *path); /* as the sandbox sees it */
/* Whether there is nothing that could be guarded, nor anything that could be read. */
bool post_is_nothing(int err);

/* sentry-wall.c: the calling thread gives up everything but its work. 0 or a negated errno. */
int post_confine(const struct post *p, bool serving);

/* watch.c: puts guards up again whenever a guarded name comes to mean something else. Returns only
 * when it cannot go on: a negated errno. */
int watch_names(struct post *p);

#endif
