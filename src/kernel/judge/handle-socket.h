/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_SOCKET_H
#define BK_KERNEL_JUDGE_HANDLE_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#include "kernel/judge/kept-socket.h"
#include "kernel/judge/own-socket.h"
#include "kernel/judge/request.h"

/* What the handlers of sockets share. */

struct pinned;

/* What the judge knows of the sandbox's sockets. */
struct socket_use {
    bool own_ns;                     /* the sandbox has its own network namespace, */
    bool isolated;                   /* and nothing leads out of it */
    bool dials;                      /* TCP leads to the gate (handle-dial.c) */
    const struct gate_process *gate; /* if it does */
    bool judged;                     /* the policy is asked about system-socket */
    bool makes_sockets;              /* the judge makes the target's sockets, and keeps them */
    bool datagrams;                  /* the target may have Unix datagram sockets */
    struct own_sockets own;          /* bound by the command, which may connect to them */
    struct kept_sockets kept;        /* if makes_sockets */
};

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_storage storage;
};

/* Copies an address and a NUL behind its bytes. Returns 0 or a negative errno. */
int address_copy(const struct request *r, uint64_t from, uint64_t size, union address *to,
                 socklen_t *len);

/* Asks about the Unix socket that the address names, by path or by abstract name. A path is
 * replaced by one that leads to the socket file, which is pinned in p. Returns 0 or a negative
 * errno. */
int ask_peer(struct judge *j, const struct request *r, union address *to, socklen_t *len,
             struct pinned *p);

bool is_unix_datagram(int sock);

/* ---- handle-dial.c; these return 0 or a negative errno ---- */

/* Where a connection that was redirected to the gate should go. */
struct dialled {
    bool announced; /* dial_announce() must announce it */
    uint8_t addr[16];
    uint16_t port;
};

/* Replaces the address of a TCP socket by one that leads to the gate. */
int dial_redirect(struct judge *j, const struct request *r, int sock, union address *to,
                  socklen_t *len, struct dialled *d);
/* Announces d to the gate, once the connection is made or in progress. */
void dial_announce(const struct judge *j, int sock, const struct dialled *d);
/* Asks about an Internet address that nothing leads to; proto: of graph/net.h. */
int dial_ask_isolated(struct judge *j, const struct request *r, uint16_t proto,
                      const union address *to, socklen_t len);
/* Asks about the local address of an Internet socket. */
int dial_ask_bind(struct judge *j, const struct request *r, const union address *at);

#endif
