/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/loop.h"

static int epoll_init(struct loop *l)
{
    l->fd = epoll_create1(EPOLL_CLOEXEC);
    return l->fd < 0 ? -errno : 0;
}

static void epoll_free(struct loop *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

static int epoll_add(struct loop *l, struct watch *w, bool level)
{
    struct epoll_event e = {.data.ptr = w};
    e.events = level ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    return epoll_ctl(l->fd, EPOLL_CTL_ADD, w->fd, &e) < 0 ? -errno : 0;
}

static int epoll_change(struct loop *l, struct watch *w, unsigned what)
{
    struct epoll_event e = {.data.ptr = w};
    e.events = (what & LOOP_IN ? EPOLLIN : 0) | (what & LOOP_OUT ? EPOLLOUT : 0);
    return epoll_ctl(l->fd, EPOLL_CTL_MOD, w->fd, &e) < 0 ? -errno : 0;
}

static void epoll_drop(struct loop *l, struct watch *w)
{
    epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
}

static unsigned told(uint32_t events)
{
    return (events & EPOLLIN ? LOOP_IN : 0) | (events & EPOLLOUT ? LOOP_OUT : 0) |
           (events & EPOLLRDHUP ? LOOP_IN | LOOP_LAST : 0) |
           (events & (EPOLLERR | EPOLLHUP) ? LOOP_GONE | LOOP_IN | LOOP_OUT | LOOP_LAST : 0);
}

static int epoll_turn(struct loop *l, int timeout_ms, unsigned *what)
{
    struct epoll_event events[sizeof(l->current) / sizeof(l->current[0])];
    int n = epoll_wait(l->fd, events, sizeof(events) / sizeof(events[0]), timeout_ms);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        l->current[i] = events[i].data.ptr;
        what[i] = told(events[i].events);
    }
    return n;
}

const struct loop_way loop_native = {
    .init = epoll_init,
    .free = epoll_free,
    .add = epoll_add,
    .change = epoll_change,
    .drop = epoll_drop,
    .wait = epoll_turn,
};
