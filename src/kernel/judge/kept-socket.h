/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_KEPT_SOCKET_H
#define BK_KERNEL_JUDGE_KEPT_SOCKET_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Many containers refuse pidfd_getfd(). There the judge makes the command's sockets itself, and
 * keeps a copy of each until it is connected or listens; from then on only the command may hold it
 * open. If there are too many, the oldest is dropped and can no longer be connected. Thread-safe.
 */
enum { KEPT_SOCKETS = 256 };

struct kept_socket {
    ino_t number;
    int fd; /* -1: released */
};

struct kept_sockets {
    pthread_mutex_t lock;
    uint32_t n;
    struct kept_socket list[KEPT_SOCKETS]; /* the oldest first */
};

/* Keeps a copy. Returns 0 or a negative errno. */
int kept_socket_add(struct kept_sockets *s, int fd);
/* Returns another copy; -ENOENT if the socket is not kept, -EISCONN if it was released. */
int kept_socket_copy(struct kept_sockets *s, ino_t number);
/* Closes the kept copy, once the socket is connected or listens. fd: any copy of it. */
void kept_socket_release(struct kept_sockets *s, int fd);

#endif
