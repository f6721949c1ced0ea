/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_PIDFD_CACHE_H
#define BK_KERNEL_JUDGE_PIDFD_CACHE_H

#include "kernel/judge/request.h"

enum { HELD_PIDFDS = 16 };

/* Threads that called, and a pidfd of each. */
struct pidfd_cache {
    struct held_pidfd {
        pid_t tid; /* 0: free */
        int fd;
    } held[HELD_PIDFDS];
};

/* As target_take_fd(), but cheaper for threads that call often. */
int pidfd_cache_take_fd(struct judge *j, const struct request *r, int fd);

#endif
