/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_SOCKET_H
#define BK_KERNEL_JUDGE_OWN_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Unix sockets that the command itself has bound: gpg's agent, a tmux server, a test's database.
 * Any other socket in the working directory belongs to a process outside the sandbox. If there are
 * too many, sockets without a name are forgotten first, then the oldest; they count as foreign from
 * then on.
 */
enum { OWN_SOCKETS = 128 };

struct own_socket {
    int fd; /* keeps the inode number from being reused */
    dev_t dev;
    ino_t ino;
};

struct own_sockets {
    uint32_t n;
    struct own_socket list[OWN_SOCKETS]; /* the oldest first */
};

/* Remembers the socket that was bound to this name. Returns 0, or a negative errno if it is not
 * there. */
int own_socket_add(struct own_sockets *s, int folder, const char *name);
/* Whether this descriptor pins one of them. */
bool own_socket_is(const struct own_sockets *s, int fd);

#endif
