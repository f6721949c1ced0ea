/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int loop_init(struct loop *l)
{
    *l = (struct loop){.fd = epoll_create1(EPOLL_CLOEXEC), .now_ms = now_ms()};
    return l->fd < 0 ? -errno : 0;
}

int loop_add(struct loop *l, struct watch *w, bool level)
{
    struct epoll_event e = {.data.ptr = w};
    e.events = level ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    return epoll_ctl(l->fd, EPOLL_CTL_ADD, w->fd, &e) < 0 ? -errno : 0;
}

int loop_change(struct loop *l, struct watch *w, unsigned what)
{
    struct epoll_event e = {.data.ptr = w};
    e.events = (what & LOOP_IN ? EPOLLIN : 0) | (what & LOOP_OUT ? EPOLLOUT : 0);
    return epoll_ctl(l->fd, EPOLL_CTL_MOD, w->fd, &e) < 0 ? -errno : 0;
}

void loop_forget(struct loop *l, struct watch *w)
{
    if (w->fd < 0)
        return;
    epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = 0; i < l->ncurrent; i++)
        if (l->current[i] == w)
            l->current[i] = NULL;
    w->fd = -1;
}

void loop_remove(struct loop *l, struct watch *w)
{
    int fd = w->fd;
    loop_forget(l, w);
    if (fd >= 0)
        close(fd);
}

static unsigned told(uint32_t events)
{
    return (events & (EPOLLIN | EPOLLRDHUP) ? LOOP_IN : 0) | (events & EPOLLOUT ? LOOP_OUT : 0) |
           (events & (EPOLLERR | EPOLLHUP) ? LOOP_GONE | LOOP_IN | LOOP_OUT : 0);
}

int loop_turn(struct loop *l, int timeout_ms)
{
    struct epoll_event events[sizeof(l->current) / sizeof(l->current[0])];
    int n = epoll_wait(l->fd, events, sizeof(events) / sizeof(events[0]), timeout_ms);
    l->now_ms = now_ms();
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++)
        l->current[i] = events[i].data.ptr;
    l->ncurrent = n;
    for (int i = 0; i < n; i++)
        if (l->current[i])
            l->current[i]->ready(l->current[i], told(events[i].events));
    l->ncurrent = 0;
    return 0;
}
