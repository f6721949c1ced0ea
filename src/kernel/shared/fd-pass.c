/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Passes file descriptors between our processes. */

#include "kernel/shared/fd-pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(FD_PASS_MANY * sizeof(int))];
};

static int send_many(int sock, const void *data, size_t n, const int *fds, size_t nfds, int flags)
{
    union control control;
    struct iovec part = {(void *)data, n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;
    if (nfds > FD_PASS_MANY)
        return -E2BIG;
    if (nfds) {
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        memset(control.room, 0, m.msg_controllen);
        control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                        .cmsg_type = SCM_RIGHTS,
                                        .cmsg_len = CMSG_LEN(nfds * sizeof(int))};
        memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
    }
    while ((sent = sendmsg(sock, &m, MSG_NOSIGNAL | flags)) < 0 && errno == EINTR)
        ;
    return sent < 0 ? -errno : (size_t)sent == n ? 0 : -EIO;
}

int fd_pass_send_many(int sock, const void *data, size_t n, const int *fds, size_t nfds)
{
    return send_many(sock, data, n, fds, nfds, 0);
}

int fd_pass_try_many(int sock, const void *data, size_t n, const int *fds, size_t nfds)
{
    return send_many(sock, data, n, fds, nfds, MSG_DONTWAIT);
}

int fd_pass_send(int sock, const void *data, size_t n, int fd)
{
    return fd_pass_send_many(sock, data, n, &fd, fd >= 0);
}

static ssize_t receive_many(int sock, void *data, size_t n, int *fds, size_t cap, size_t *nfds,
                            int flags)
{
    union control control;
    struct iovec part = {data, n};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = CMSG_SPACE(cap * sizeof(int))};
    ssize_t got;
    *nfds = 0;
    if (cap > FD_PASS_MANY)
        return -E2BIG;
    while ((got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | flags)) < 0 && errno == EINTR)
        ;
    if (got < 0)
        return -errno;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len < CMSG_LEN(0))
        return got;
    size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < came; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
        if (*nfds < cap)
            fds[(*nfds)++] = fd;
        else
            close(fd);
    }
    return got;
}

ssize_t fd_pass_receive_many(int sock, void *data, size_t n, int *fds, size_t cap, size_t *nfds)
{
    return receive_many(sock, data, n, fds, cap, nfds, 0);
}

ssize_t fd_pass_poll_many(int sock, void *data, size_t n, int *fds, size_t cap, size_t *nfds)
{
    return receive_many(sock, data, n, fds, cap, nfds, MSG_DONTWAIT);
}

ssize_t fd_pass_receive(int sock, void *data, size_t n, int *fd)
{
    size_t got;
    *fd = -1;
    return fd_pass_receive_many(sock, data, n, fd, 1, &got);
}
