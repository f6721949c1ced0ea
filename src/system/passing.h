/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_PASSING_H
#define BK_SYSTEM_PASSING_H

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One descriptor with a message. */
struct passing {
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } extra;
};

/* Adds a descriptor to a message that is to be sent; -1: none. */
static inline void passing_add(struct passing *p, struct msghdr *h, int passed)
{
    if (passed < 0)
        return;
    memset(p, 0, sizeof(*p));
    h->msg_control = &p->extra;
    h->msg_controllen = sizeof(p->extra.bytes);
    p->extra.head.cmsg_level = SOL_SOCKET;
    p->extra.head.cmsg_type = SCM_RIGHTS;
    p->extra.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&p->extra.head), &passed, sizeof(int));
}

/* Makes room for one in a message that is to be received. */
static inline void passing_room(struct passing *p, struct msghdr *h)
{
    h->msg_control = &p->extra;
    h->msg_controllen = sizeof(p->extra.bytes);
}

/* The first descriptor that came along, or -1; closes the others. */
static inline int passing_take(struct msghdr *h)
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

#endif
