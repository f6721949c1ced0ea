/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_DESCRIPTORS_H
#define BK_SYSTEM_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/*
 * Descriptors that no other program inherits. Linux makes them so in one call; elsewhere another
 * thread that starts a program in between could pass one on, and our programs that start others
 * have one thread.
 */
enum fd_kind { FD_BLOCK, FD_NONBLOCK };

/* Like the calls of these names: -1 and errno on failure. Writing to a closed socket raises no
 * signal, with MSG_NOSIGNAL. */
int fd_pipe(int ends[2]);
int fd_stream_pair(int ends[2]); /* connected local sockets */
int fd_socket(int family, int type, enum fd_kind kind);
int fd_accept(int listener, struct sockaddr *from, socklen_t *n, enum fd_kind kind);
ssize_t fd_receive_message(int sock, struct msghdr *h, int flags);

/* Closes all from `first` to `last`, or to the end if that is -1. */
void fd_close_range(int first, int last);
/* Closes everything except these n, which are sorted here; negative ones count for nothing. */
void fd_close_others(int *keep, size_t n);

/* ---- packets between processes of this machine ---- */

/*
 * Sockets that keep messages apart, tell when the other end is gone, and pass descriptors on.
 * FD_PACKET_MOST is the longest message. A message is sent whole or not at all.
 */
enum { FD_PACKET_MOST = 128 << 10 };

int fd_packet_pair(int ends[2]);
int fd_packet_socket(enum fd_kind kind); /* to bind or connect */
int fd_packet_accept(int listener, enum fd_kind kind);
/* passed: a descriptor that goes along, or -1; it stays open here. dont_wait: -1 with EAGAIN
 * instead of waiting. */
ssize_t fd_packet_send(int sock, const void *bytes, size_t n, int passed, bool dont_wait);
/* Returns the length of the message, which may be more than cap: the rest is lost. *passed: the
 * descriptor that came along, or -1; NULL: none is accepted. 0: the other end is gone. */
ssize_t fd_packet_receive(int sock, void *bytes, size_t cap, int *passed, bool dont_wait);

#endif
