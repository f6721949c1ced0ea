/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_THREAD_CACHE_H
#define BK_KERNEL_JUDGE_THREAD_CACHE_H

#include "kernel/judge/request.h"

/* What the judge remembers of the threads that call. */

enum { CACHED_THREADS = 64, CHANGING_MAX = 16 };

struct cached_thread {
    pid_t tid;     /* 0: free */
    int folder;    /* its /proc/TID */
    int life;      /* its pidfd, which is cheaper to look at; or -1 */
    uint64_t seen; /* the last request during which the folder was alive */
    uint64_t sure; /* the last request that was valid after that */
    bool has_umask;
    mode_t umask;
    uint64_t umask_as_of;
    uint64_t creds_as_of;  /* it had the judge's credentials at this count; 0: unknown */
    int cwd;               /* its working folder, or -1: not kept */
    uint64_t cwd_as_of;    /* at this count of changes (caller-folder.c) */
    uint64_t called_as_of; /* it was opened for a call at this count */
};

/* A call of umask() that the kernel performs. */
struct changing {
    pid_t tid;
    int folder;
    mode_t mask;
};

struct thread_cache {
    struct cached_thread known[CACHED_THREADS]; /* by tid */
    struct changing changing[CHANGING_MAX];
    size_t nchanging;
    uint64_t umask_changes;
    bool umask_unsteady; /* a cached umask may be wrong at any time */
};

/* Returns the caller's entry, new or confirmed to be alive; or NULL. It is the caller's if the
 * request is valid afterwards. */
struct cached_thread *thread_cache_caller(struct judge *j, const struct request *r);
/* Keeps a copy of the caller's working folder, or with -1, that it cannot be kept at this count. */
void thread_cache_set_folder(struct judge *j, const struct request *r, int cwd, uint64_t as_of);
/* Forgets all working folders. */
void thread_cache_close_folders(struct judge *j);
/* Opens a file in the caller's /proc folder. Returns a descriptor or a negative errno. */
int thread_cache_open(struct judge *j, const struct request *r, const char *name, int flags);
/* Call it once the request was found valid after everything opened so far. */
void thread_cache_confirm(struct judge *j, const struct request *r);
/* Call it for every call before it is answered. */
void thread_cache_observe(struct judge *j, const struct request *r);
/* Reads the caller's umask, and checks that the request is valid. Returns 0 or a negative errno. */
int thread_cache_umask(struct judge *j, const struct request *r, mode_t *mask);
/* Whether the caller is known to have the credentials that the judge acts with. */
bool thread_cache_has_creds(struct judge *j, const struct request *r);
/* It has them; call it after reading them during this request. */
void thread_cache_set_creds(struct judge *j, const struct request *r);

#endif
