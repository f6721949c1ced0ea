/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The epoll loop. Sockets are edge-triggered for both directions, so no call is needed when
 * interest changes. Listeners and descriptors of libraries are level-triggered.
 */

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
    loop_table_free(l);
}

static int epoll_add(struct loop *l, struct watch *w, bool level)
{
    struct epoll_event e = {.data.fd = w->fd};
    e.events = level ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    if (!loop_table_has_room(l, w->fd))
        return -ENOMEM;
    if (epoll_ctl(l->fd, EPOLL_CTL_ADD, w->fd, &e) < 0)
        return -errno;
    l->by_fd[w->fd] = (struct watched){w, level};
    return 0;
}

static int epoll_change(struct loop *l, struct watch *w, unsigned what)
{
    struct epoll_event e = {.data.fd = w->fd};
    e.events = (what & LOOP_IN ? EPOLLIN : 0) | (what & LOOP_OUT ? EPOLLOUT : 0);
    return epoll_ctl(l->fd, EPOLL_CTL_MOD, w->fd, &e) < 0 ? -errno : 0;
}

static void epoll_drop(struct loop *l, struct watch *w)
{
    epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
    l->by_fd[w->fd].watch = NULL;
}

/* The kernel drops a closed descriptor itself, unless another process has it open. */
static void epoll_closing(struct loop *l, struct watch *w)
{
    if (l->by_fd[w->fd].level)
        epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
    l->by_fd[w->fd].watch = NULL;
}

static unsigned events_to_what(uint32_t events)
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
        l->current[i] = l->by_fd[events[i].data.fd].watch;
        what[i] = events_to_what(events[i].events);
    }
    return n;
}

const struct loop_ops loop_native = {
    .init = epoll_init,
    .free = epoll_free,
    .add = epoll_add,
    .change = epoll_change,
    .drop = epoll_drop,
    .closing = epoll_closing,
    .move = loop_table_move,
    .wait = epoll_turn,
};
