/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_SOCKET_H
#define BK_KERNEL_JUDGE_HANDLE_SOCKET_H

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernel/judge/kept-socket.h"
#include "kernel/judge/own-socket.h"
#include "kernel/judge/request.h"

/* What the handlers of sockets share. */

struct pinned;

/* Where this machine's TCP servers listen, as its kernel lists them (handle-loopback.c). */
enum { HOST_TABLES = 2 };
struct host_servers {
    bool opened;
    FILE *tables[HOST_TABLES]; /* IPv4, IPv6; or NULL */
};

/* What the judge knows of the sandbox's sockets. */
struct socket_use {
    bool own_ns;        /* the sandbox has its own network namespace, */
    bool isolated;      /* and nothing leads out of it */
    bool dials;         /* TCP leads to the gate (handle-dial.c) */
    bool local_all;     /* loopback leads to this machine's servers, too */
    bool notes_servers; /* the gate must know of servers that start */
    struct host_servers host;
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

/* Where a connection that was redirected to the gate should go. */
struct dialled {
    bool announced; /* dial_announce() must announce it */
    bool peer;      /* to a server of another command of the session */
    uint8_t addr[16];
    uint16_t port;
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
/* Connects without blocking. Returns -EAGAIN, -EINPROGRESS or -EALREADY if that takes time. */
int socket_connect_at_once(int sock, const union address *to, socklen_t len);

/* ---- handle-loopback.c ---- */

bool loopback_is(const union address *to, socklen_t len);
/* Connects a TCP socket to a loopback address: inside, or else to this machine's server. Returns as
 * socket_connect_at_once() does; d then has what must be announced. */
int loopback_connect(struct judge *j, const struct request *r, int sock, const union address *to,
                     socklen_t len, struct dialled *d);
/* Opens the tables of this process's network. */
void loopback_tables_open(struct host_servers *h, int proc, pid_t whose);

/* ---- handle-dial.c; these return 0 or a negative errno ---- */

/* Replaces the address of a TCP socket by one that leads to the gate. */
int dial_redirect(struct judge *j, const struct request *r, int sock, union address *to,
                  socklen_t *len, struct dialled *d);
/* Announces d to the gate, once the connection is made or in progress. */
void dial_announce(const struct judge *j, int sock, const struct dialled *d);
/* Asks about an Internet address that nothing leads to; proto: of graph/net.h. */
int dial_ask_isolated(struct judge *j, const struct request *r, uint16_t proto,
                      const union address *to, socklen_t len);
/* Reports a connection to a server of this machine, unless the policy allows it. */
void dial_report_local(struct judge *j, const struct request *r, const uint8_t addr[16],
                       uint16_t port);
/* Asks about the local address of an Internet socket. */
int dial_ask_bind(struct judge *j, const struct request *r, const union address *at);

#endif
