/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Descriptors from one of our processes to another. */

#include "kernel/pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

int pass_send(int sock, const void *data, size_t n, int fd)
{
    union control control = {0};
    struct iovec part = {(void *)data, n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;
    if (fd >= 0) {
        m.msg_control = control.room;
        m.msg_controllen = sizeof(control.room);
        control.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    }
    while ((sent = sendmsg(sock, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return sent < 0 ? -errno : (size_t)sent == n ? 0 : -EIO;
}

ssize_t pass_receive(int sock, void *data, size_t n, int *fd)
{
    union control control = {0};
    struct iovec part = {data, n};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.room,
                       .msg_controllen = sizeof(control.room)};
    ssize_t got;
    *fd = -1;
    while ((got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (got < 0)
        return -errno;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(c), sizeof(*fd));
    return got;
}
