/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_KEPT_SOCKET_H
#define BK_KERNEL_JUDGE_KEPT_SOCKET_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where descriptors cannot be taken from a child (many containers refuse pidfd_getfd), the judge
 * makes the command's sockets itself and keeps a copy of each until it is connected or listens:
 * from then on nobody but the command may keep it open. Not many are kept: the oldest go first, and
 * can no longer be connected. Used by several threads.
 */
enum { KEPT_SOCKETS = 256 };

struct kept_socket {
    ino_t number;
    int fd; /* -1: it was let go */
};

struct kept_sockets {
    pthread_mutex_t lock;
    uint32_t n;
    struct kept_socket list[KEPT_SOCKETS]; /* the oldest first */
};

/* Keeps a copy; 0 or a negated errno. */
int kept_socket_add(struct kept_sockets *s, int fd);
/* Another copy of one of them: -ENOENT when it is none, -EISCONN when it was let go. */
int kept_socket_copy(struct kept_sockets *s, ino_t number);
/* It is connected, or listens. fd: any copy of it. */
void kept_socket_let_go(struct kept_sockets *s, int fd);

#endif
