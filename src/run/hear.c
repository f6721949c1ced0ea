/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/hear.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

void hear_init(struct hearing *h)
{
    h->fd = -1;
    for (size_t i = 0; i < HEAR_MOST; i++)
        h->at[i].fd = -1;
}

int hear_add(struct hearing *h, int fd, void (*fn)(void *arg, int fd), void *arg,
             struct bk_err *err)
{
    size_t i = 0;
    while (i < HEAR_MOST && h->at[i].fd >= 0)
        i++;
    if (i == HEAR_MOST)
        return err_set(err, BK_E_LIMIT, "too many to listen to");
    if (h->fd < 0)
        h->fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = i};
    if (h->fd < 0 || epoll_ctl(h->fd, EPOLL_CTL_ADD, fd, &e) < 0)
        return err_sys(err, "cannot listen to descriptor %d", fd);
    h->at[i] = (struct hear){fd, fn, arg};
    return 0;
}

void hear_drop(struct hearing *h, int fd)
{
    for (size_t i = 0; i < HEAR_MOST; i++)
        if (h->at[i].fd == fd) {
            epoll_ctl(h->fd, EPOLL_CTL_DEL, fd, NULL);
            h->at[i].fd = -1;
        }
}

/* One at a time: whoever is called may drop others. */
void hear_all(struct hearing *h)
{
    struct epoll_event e;
    while (h->fd >= 0 && epoll_wait(h->fd, &e, 1, 0) == 1) {
        const struct hear *one = &h->at[e.data.u64 % HEAR_MOST];
        if (one->fd >= 0)
            one->fn(one->arg, one->fd);
        else
            break;
    }
}

void hear_end(struct hearing *h)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
}
