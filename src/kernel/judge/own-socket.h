/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_SOCKET_H
#define BK_KERNEL_JUDGE_OWN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Unix sockets that the command has bound to a name itself: gpg's agent, a tmux server, a database
 * of a test. Behind any other socket in the working directory stands somebody outside the sandbox.
 * Not many are remembered: when there is no room, first those go that have no name any more, then
 * the oldest, and count as strangers' from then on.
 */
enum { OWN_SOCKETS = 128 };

struct own_socket {
    int fd; /* keeps the file's number from being used again */
    dev_t dev;
    ino_t ino;
};

struct own_sockets {
    uint32_t n;
    struct own_socket list[OWN_SOCKETS]; /* the oldest first */
};

/* A socket has been bound to this name in the folder. 0, or a negated errno when it is not there.
 */
int own_socket_add(struct own_sockets *s, int folder, const char *name);
/* Whether the object that this descriptor pins is one of them. */
bool own_socket_is(const struct own_sockets *s, int fd);

#endif
