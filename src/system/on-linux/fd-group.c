/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/fd-group.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

int fd_group_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

int fd_group_add(int group, int fd, uint64_t tag)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl(group, EPOLL_CTL_ADD, fd, &e);
}

int fd_group_writes(int group, int fd, uint64_t tag, bool writes)
{
    struct epoll_event e = {.events = EPOLLIN | (writes ? (unsigned)EPOLLOUT : 0u),
                            .data.u64 = tag};
    return epoll_ctl(group, EPOLL_CTL_MOD, fd, &e);
}

void fd_group_remove(int group, int fd)
{
    epoll_ctl(group, EPOLL_CTL_DEL, fd, NULL);
}

int fd_group_next(int group, uint64_t *tag)
{
    struct epoll_event e;
    int n = epoll_wait(group, &e, 1, 0);
    if (n == 1)
        *tag = e.data.u64;
    return n;
}

int fd_flag_open(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void fd_flag_set(int flag, bool raised)
{
    uint64_t one = 1;
    if (raised)
        (void)!write(flag, &one, sizeof(one));
    else
        (void)!read(flag, &one, sizeof(one));
}

int fd_timer_open(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

int fd_timer_set(int timer, unsigned milliseconds)
{
    struct itimerspec in = {
        .it_value = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000}};
    return timerfd_settime(timer, 0, &in, NULL);
}

void fd_timer_clear(int timer)
{
    uint64_t times;
    (void)!read(timer, &times, sizeof(times));
}
