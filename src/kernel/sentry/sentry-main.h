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

/* Inside the sentry's process: what mounting (sentry-main.c) and watching (sentry-watch.c) share.
 */

struct sentry_place {
    int number;  /* its number in the sentries' file system, or -1 */
    int real_fd; /* what it covers (O_PATH, in the sandbox's mount table); -1: it is not mounted */
    uint64_t dev, inode; /* of that, as the host sees it too */
};

/* What was at a path at the start, and its number; -1: none yet. */
struct sentry_first {
    int number;
    mode_t mode;
    uint64_t dev, inode;
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
    sem_t settled;               /* it has its own file descriptor table */
    bool confined;               /* it has given up what it does not need */
    atomic_bool strangers;       /* from here on requests may be the command's */
    bool ready;                  /* the judge knows that all sentries are mounted */
    int crowd;                   /* eventfd: the serving thread wants the kernel to forget names */
    struct sentries_there there; /* at the start */
    struct sentry_place mounted[PLAN_SENTRIES];
    struct sentry_first first[PLAN_SENTRIES];
    struct graph_cache *cache;    /* masks only */
    struct file_names *names;     /* all names of files: the serving thread's, or that of masks */
    struct sentry_search *search; /* NULL: nothing is searched */
    bool search_changed;          /* not all of it was as in the record */
    int mounts, later; /* mountinfo of the sandbox, and of the host: the watching thread's */
    uint64_t dev;      /* of the sentries' file system */
};

/* Mounts sentry i over what is at its path now, if anything is. Does nothing if it is mounted
 * already. Returns 0 or a negative errno. */
int sentry_process_place_at(struct sentry_process *p, size_t i);

/* The same with a mask (mask.c). */
int sentry_process_mask(struct sentry_process *p, size_t i);
/* Masks all of what is at a path, unless something covers it already. Returns 0 or a negative
 * errno. */
int sentry_process_hide(struct sentry_process *p, const char *path);

/* Opens a path as the host sees it. Returns a file descriptor (O_PATH) or a negative errno. Does
 * not follow links: the policy names real paths. */
int sentry_process_open(const struct sentry_process *p, const char *path);
int sentry_process_open_inside(const char *path); /* the same as the sandbox sees it */
/* Whether there is nothing to guard and nothing to read. */
bool sentry_process_is_nothing(int err);

/* sentry-wall.c: the calling thread gives up everything except its work. Returns 0 or a negative
 * errno. */
int sentry_process_confine(const struct sentry_process *p, bool serving);

/* sentry-watch.c: mounts sentries again whenever a guarded name gets another meaning. Returns only
 * on failure: a negative errno. */
int watch_names(struct sentry_process *p);

/* A copy of a mount, to be attached elsewhere. Returns a file descriptor or a negative errno. */
int sentry_process_copy(int at, const char *path);
int sentry_process_attach(int tree, int on);

/* sentry-search.c: sentries on names that patterns deny. These return 0 or a negative errno. The
 * first searches, before anything is mounted; the second mounts what was found; the third begins to
 * watch. */
int sentry_search_first(struct sentry_process *p);
int sentry_search_place(struct sentry_process *p);
int sentry_search_begin(struct sentry_process *p);
/* Searches everything again. */
int sentry_search_again(struct sentry_process *p);
/* When something can be read from their descriptors: about changed folders, and from the judge. */
int sentry_search_events(struct sentry_process *p);
int sentry_search_request(struct sentry_process *p);
int sentry_search_events_fd(const struct sentry_process *p);
/* In how many milliseconds to search again; -1: never. */
int sentry_search_timeout(const struct sentry_process *p);
/* Waits, and answers the judge meanwhile. */
int sentry_search_rest(struct sentry_process *p, int ms);

/* sentry-layers.c: makes what changes below layers visible. The first watches them, once; the
 * second takes an event; the third makes the kernel forget old names if there was one, and returns
 * how many milliseconds later it wants to be called again, or -1. */
bool sentry_layers_show(int fd); /* whether it is on an overlay */
struct inotify_event;
void sentry_layers_watch(const struct sentry_process *p, int events);
void sentry_layers_event(const struct sentry_process *p, int events, const struct inotify_event *e);
/* Call it before looking for guarded names that may be new in a layer. */
void sentry_layers_before_look(const struct sentry_process *p);
int sentry_layers_refresh(const struct sentry_process *p);

#endif
