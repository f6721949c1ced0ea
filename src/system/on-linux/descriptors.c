/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/descriptors.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/passing.h"

int fd_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

int fd_stream_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int flags(enum fd_kind kind)
{
    return SOCK_CLOEXEC | (kind == FD_NONBLOCK ? SOCK_NONBLOCK : 0);
}

int fd_socket(int family, int type, enum fd_kind kind)
{
    return socket(family, type | flags(kind), 0);
}

int fd_accept(int listener, struct sockaddr *from, socklen_t *n, enum fd_kind kind)
{
    return accept4(listener, from, n, flags(kind));
}

ssize_t fd_receive_message(int sock, struct msghdr *h, int how)
{
    return recvmsg(sock, h, how | MSG_CMSG_CLOEXEC);
}

void fd_close_range(int first, int last)
{
    syscall(SYS_close_range, (unsigned)first, last < 0 ? ~0u : (unsigned)last, 0);
}

/* ---- packets ---- */

int fd_packet_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

int fd_packet_socket(enum fd_kind kind)
{
    return fd_socket(AF_UNIX, SOCK_SEQPACKET, kind);
}

int fd_packet_accept(int listener, enum fd_kind kind)
{
    return fd_accept(listener, NULL, NULL, kind);
}

ssize_t fd_packet_send(int sock, const void *bytes, size_t n, int passed, bool dont_wait)
{
    struct passing extra;
    struct iovec part = {(void *)bytes, n};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passing_add(&extra, &h, passed);
    return sendmsg(sock, &h, MSG_NOSIGNAL | (dont_wait ? MSG_DONTWAIT : 0));
}

ssize_t fd_packet_receive(int sock, void *bytes, size_t cap, int *passed, bool dont_wait)
{
    struct passing extra;
    struct iovec part = {bytes, cap};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed)
        passing_room(&extra, &h);
    ssize_t n = fd_receive_message(sock, &h, MSG_TRUNC | (dont_wait ? MSG_DONTWAIT : 0));
    if (passed)
        *passed = n >= 0 ? passing_take(&h) : -1;
    return n;
}
