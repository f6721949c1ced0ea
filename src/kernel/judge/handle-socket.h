/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_SOCKET_H
#define BK_KERNEL_JUDGE_HANDLE_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernel/judge/judge.h"

/* What handle-socket.c and handle-datagram.c share. */

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_storage storage;
};

/* Copies an address; behind its bytes there is a NUL. */
int address_copy(const struct request *r, uint64_t from, uint64_t size, union address *to,
                 socklen_t *len);

/* Asks about the Unix socket that the address names, by path or by abstract name. A path becomes
 * one that leads to the socket file in p, which is pinned there. */
int ask_peer(struct judge *w, const struct request *r, union address *to, socklen_t *len,
             struct pinned *p);

/* Whether a socket of ours is a Unix datagram socket. */
bool is_unix_datagram(int sock);

/* ---- handle-dial.c ---- */

/* Where a connection that leads to the gate was meant to go. */
struct dialled {
    bool announced; /* else nobody has to know */
    uint8_t addr[16];
    uint16_t port;
};

/* Changes the address of a TCP socket into one that leads to the gate. */
int dial_lead(struct judge *w, const struct request *r, int sock, union address *to, socklen_t *len,
              struct dialled *d);
/* The connection is made, or under way. */
void dial_announce(const struct judge *w, int sock, const struct dialled *d);
/* What the policy says of an Internet address that no road leads to; proto: of graph/net.h. */
int dial_ask_alone(struct judge *w, const struct request *r, uint16_t proto,
                   const union address *to, socklen_t len);
/* What the policy says of an Internet socket's own address. */
int dial_ask_bind(struct judge *w, const struct request *r, const union address *at);

/* ---- handle-datagram.c ---- */

/* Makes a datagram socket's connection: takes over p. */
struct answer datagram_connect(struct judge *w, const struct request *r, int sock,
                               const union address *to, socklen_t len);

/* Binds a datagram socket of the target to a name in a folder, as what bind_to() does for others.
 */
typedef int bind_fn(const struct judge *w, int folder, int sock, const union address *to,
                    socklen_t len);
int datagram_bind(struct judge *w, const struct pinned *p, int sock, const union address *to,
                  socklen_t len, bind_fn *bind_to);

#endif
