/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_DATAGRAM_H
#define BK_KERNEL_JUDGE_HANDLE_DATAGRAM_H

#include <sys/socket.h>

#include "kernel/judge/request.h"

/* Unix datagram sockets. */

union address;
struct pinned;

/* A socket of ours with the same name as one of the target's. */
struct twin {
    int fd;
    ino_t of; /* the target's socket */
};

enum { TWINS = 32 };

struct twins {
    struct twin list[TWINS]; /* the oldest first */
    unsigned n;
};

/* Connects the target's datagram socket; takes over sock. */
struct answer datagram_connect(struct judge *j, const struct request *r, int sock,
                               const union address *to, socklen_t len);

/* Binds a datagram socket of the target to a name in a pinned folder; bind_to() does it for other
 * sockets. Returns 0 or a negative errno. */
typedef int bind_fn(const struct judge *j, int folder, int sock, const union address *to,
                    socklen_t len);
int datagram_bind(struct judge *j, const struct pinned *p, int sock, const union address *to,
                  socklen_t len, bind_fn *bind_to);

/* Waits briefly until the couriers have forwarded what connected sockets sent. */
void datagram_drain(void);

#endif
