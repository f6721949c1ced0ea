/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_FD_WATCH_H
#define BK_SYSTEM_FD_WATCH_H

#include <stddef.h>

#include "base/err.h"

/*
 * Several descriptors to watch while a command runs (settings files, --control-fd, the control
 * socket), behind the one descriptor that a launch polls: launch.hears is the fd of this struct,
 * and launch.on_input calls fd_watch_all().
 */
enum { FD_WATCH_MAX = 1024 };

struct fd_watch {
    int fd; /* -1 while nothing is watched */
    size_t n;
    struct watched_fd {
        int fd;                        /* -1: free */
        void (*fn)(void *arg, int fd); /* something can be read there, or it has ended */
        void *arg;
    } * at;
};

void fd_watch_init(struct fd_watch *h);
int fd_watch_add(struct fd_watch *h, int fd, void (*fn)(void *arg, int fd), void *arg,
                 struct bk_err *err);
void fd_watch_drop(struct fd_watch *h, int fd); /* also from within fn; does not close it */
void fd_watch_all(
    struct fd_watch *h); /* what is there, or much of it; more can be read from fd then */
void fd_watch_end(struct fd_watch *h);

#endif
