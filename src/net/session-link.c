/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/session-link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int link_send(int sock, enum link_kind kind, uint16_t port, int passed)
{
    struct link_message m = {(uint16_t)kind, port};
    struct iovec part = {&m, sizeof(m)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra = {{0}};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        h.msg_control = &extra;
        h.msg_controllen = sizeof(extra.bytes);
        extra.head.cmsg_level = SOL_SOCKET;
        extra.head.cmsg_type = SCM_RIGHTS;
        extra.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&extra.head), &passed, sizeof(int));
    }
    return sendmsg(sock, &h, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(m) ? 0 : -errno;
}

/* The first descriptor that came along, or -1; closes the others. */
static int take_passed(struct msghdr *h)
{
    int fds[8], found = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        n = n < sizeof(fds) / sizeof(fds[0]) ? n : sizeof(fds) / sizeof(fds[0]);
        memcpy(fds, CMSG_DATA(c), n * sizeof(int));
        for (size_t i = 0; i < n; i++)
            if (found < 0)
                found = fds[i];
            else
                close(fds[i]);
    }
    return found;
}

ssize_t link_receive_bytes(int sock, void *to, size_t cap, int flags, int *passed)
{
    struct iovec part = {to, cap};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra;
    struct msghdr h = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &extra,
                       .msg_controllen = sizeof(extra.bytes)};
    *passed = -1;
    ssize_t n = recvmsg(sock, &h, flags | MSG_CMSG_CLOEXEC);
    if (n >= 0)
        *passed = take_passed(&h);
    return n;
}

int link_receive(int sock, struct link_message *m, int *passed)
{
    ssize_t n = link_receive_bytes(sock, m, sizeof(*m), MSG_DONTWAIT, passed);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (n == sizeof(*m) && m->port && (m->kind == LINK_CALL) == (*passed >= 0))
        return 1;
    if (*passed >= 0)
        close(*passed);
    *passed = -1;
    return n == 0 ? 0 : -EPROTO;
}
