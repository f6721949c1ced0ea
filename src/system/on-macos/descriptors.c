/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * macOS has neither SOCK_CLOEXEC nor packets on local sockets that tell of their end. Packets are
 * sent over a stream instead: four bytes with the length, then the message. A reader looks before
 * it takes: it takes nothing until the whole message is there.
 */

#include "system/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "system/passing.h"

enum { PATIENCE_MS = 2000 };

/* ---- close-on-exec ---- */

static int close_later(int fd, enum fd_kind kind)
{
    if (fd < 0)
        return -1;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
        (kind == FD_BLOCK || fcntl(fd, F_SETFL, O_NONBLOCK) == 0))
        return fd;
    close(fd);
    return -1;
}

/* MSG_NOSIGNAL is not in every version of the system. */
static int no_signal(int fd)
{
    int one = 1;
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof(one));
    return fd;
}

int fd_pipe(int ends[2])
{
    if (pipe(ends) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

int fd_stream_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        no_signal(close_later(ends[i], FD_BLOCK));
    return 0;
}

int fd_socket(int family, int type, enum fd_kind kind)
{
    return no_signal(close_later(socket(family, type, 0), kind));
}

/* An accepted socket inherits O_NONBLOCK from its listener here. */
int fd_accept(int listener, struct sockaddr *from, socklen_t *n, enum fd_kind kind)
{
    int fd = close_later(accept(listener, from, n), kind);
    if (fd >= 0 && kind == FD_BLOCK)
        fcntl(fd, F_SETFL, 0);
    return no_signal(fd);
}

ssize_t fd_receive_message(int sock, struct msghdr *h, int flags)
{
    ssize_t n = recvmsg(sock, h, flags);
    if (n < 0)
        return n;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }
    return n;
}

void fd_close_range(int first, int last)
{
    int most = getdtablesize();
    for (int fd = first; fd < most && (last < 0 || fd <= last); fd++)
        close(fd);
}

/* ---- packets ---- */

/* Whole messages must fit. */
static int make_room(int fd)
{
    int bytes = 2 * FD_PACKET_MOST;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    return no_signal(fd);
}

int fd_packet_pair(int ends[2])
{
    if (fd_stream_pair(ends) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        make_room(ends[i]);
    return 0;
}

int fd_packet_socket(enum fd_kind kind)
{
    return make_room(fd_socket(AF_UNIX, SOCK_STREAM, kind));
}

int fd_packet_accept(int listener, enum fd_kind kind)
{
    return make_room(fd_accept(listener, NULL, NULL, kind));
}

static bool wait_until(int sock, short what)
{
    struct pollfd p = {sock, what, 0};
    return poll(&p, 1, PATIENCE_MS) > 0;
}

/* The rest of a message that has begun: a part of it would be taken for the next one. */
static int finish(int sock, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(sock, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR &&
            ((errno != EAGAIN && errno != ENOBUFS) || !wait_until(sock, POLLOUT))) {
            shutdown(sock, SHUT_RDWR);
            return -1;
        }
        bytes += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

ssize_t fd_packet_send(int sock, const void *bytes, size_t n, int passed, bool dont_wait)
{
    struct passing extra;
    uint32_t length = (uint32_t)n;
    struct iovec parts[] = {{&length, sizeof(length)}, {(void *)bytes, n}};
    struct msghdr h = {.msg_iov = parts, .msg_iovlen = 2};
    if (n > FD_PACKET_MOST) {
        errno = EMSGSIZE;
        return -1;
    }
    passing_add(&extra, &h, passed);
    ssize_t sent;
    while ((sent = sendmsg(sock, &h, MSG_NOSIGNAL | (dont_wait ? MSG_DONTWAIT : 0))) < 0)
        if (errno != EINTR)
            return -1;
    size_t done = (size_t)sent;
    if (done < sizeof(length)) {
        if (finish(sock, (const char *)&length + done, sizeof(length) - done) < 0)
            return -1;
        done = sizeof(length);
    }
    size_t at = done - sizeof(length);
    return finish(sock, (const char *)bytes + at, n - at) < 0 ? -1 : (ssize_t)n;
}

/* Waits until a whole message is there. Returns 1 with its length; 0 at the end; -1 with EAGAIN. */
static int await_message(int sock, uint32_t *length, bool dont_wait)
{
    for (;;) {
        int there = 0;
        ssize_t n = recv(sock, length, sizeof(*length), MSG_PEEK | MSG_DONTWAIT);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n == sizeof(*length) && *length > FD_PACKET_MOST)
            return errno = EPROTO, -1;
        if (n == sizeof(*length) && ioctl(sock, FIONREAD, &there) == 0 &&
            (size_t)there >= sizeof(*length) + *length)
            return 1;
        bool begun = n > 0;
        if (dont_wait && !begun)
            return errno = EAGAIN, -1;
        /* its sender is at it: sent in one call, a message is there nearly at once */
        struct pollfd p = {sock, POLLIN, 0};
        if (begun ? (usleep(200), false) : poll(&p, 1, -1) < 0 && errno != EINTR)
            return -1;
    }
}

ssize_t fd_packet_receive(int sock, void *bytes, size_t cap, int *passed, bool dont_wait)
{
    struct passing extra;
    uint32_t length;
    char rest[512];
    if (passed)
        *passed = -1;
    int got = await_message(sock, &length, dont_wait);
    if (got <= 0)
        return got;
    size_t take = length < cap ? length : cap;
    struct iovec parts[] = {{&length, sizeof(length)}, {bytes, take}};
    struct msghdr h = {.msg_iov = parts, .msg_iovlen = 2};
    passing_room(&extra, &h);
    uint32_t whole = length;
    ssize_t n = fd_receive_message(sock, &h, MSG_WAITALL);
    int came = n >= 0 ? passing_take(&h) : -1;
    if (n != (ssize_t)(sizeof(length) + take)) {
        own_close_fd(&came);
        return n < 0 ? -1 : 0;
    }
    for (size_t left = whole - take; left > 0;) {
        ssize_t more = recv(sock, rest, left < sizeof(rest) ? left : sizeof(rest), 0);
        if (more <= 0)
            break;
        left -= (size_t)more;
    }
    if (passed)
        *passed = came;
    else
        own_close_fd(&came);
    return (ssize_t)whole;
}
