/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Groups, flags and timers are kqueues: a kqueue is readable while it has an event. */

#include "system/fd-group.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

int fd_group_open(void)
{
    int group = kqueue();
    if (group >= 0)
        fcntl(group, F_SETFD, FD_CLOEXEC);
    return group;
}

static int change(int group, int fd, int filter, int flags, uint64_t tag)
{
    struct kevent e;
    EV_SET(&e, (uintptr_t)fd, (int16_t)filter, (uint16_t)flags, 0, 0, (void *)(uintptr_t)tag);
    return kevent(group, &e, 1, NULL, 0, NULL);
}

int fd_group_add(int group, int fd, uint64_t tag)
{
    return change(group, fd, EVFILT_READ, EV_ADD, tag);
}

int fd_group_writes(int group, int fd, uint64_t tag, bool writes)
{
    if (writes)
        return change(group, fd, EVFILT_WRITE, EV_ADD, tag);
    (void)change(group, fd, EVFILT_WRITE, EV_DELETE, tag); /* it may not be there */
    return 0;
}

void fd_group_remove(int group, int fd)
{
    (void)change(group, fd, EVFILT_READ, EV_DELETE, 0);
    (void)change(group, fd, EVFILT_WRITE, EV_DELETE, 0);
}

static int take(int group, struct kevent *e)
{
    static const struct timespec now;
    return kevent(group, NULL, 0, e, 1, &now);
}

int fd_group_next(int group, uint64_t *tag)
{
    struct kevent e;
    int n = take(group, &e);
    if (n == 1)
        *tag = (uint64_t)(uintptr_t)e.udata;
    return n;
}

/* ---- a flag ---- */

enum { THE_ONE = 1 };

int fd_flag_open(void)
{
    int flag = fd_group_open();
    struct kevent e;
    EV_SET(&e, THE_ONE, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
    if (flag >= 0 && kevent(flag, &e, 1, NULL, 0, NULL) < 0) {
        close(flag);
        return -1;
    }
    return flag;
}

void fd_flag_set(int flag, bool raised)
{
    struct kevent e;
    EV_SET(&e, THE_ONE, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    if (raised)
        (void)kevent(flag, &e, 1, NULL, 0, NULL);
    else
        (void)take(flag, &e); /* EV_CLEAR: taking the event lowers it */
}

/* ---- a timer ---- */

int fd_timer_open(void)
{
    return fd_group_open();
}

int fd_timer_set(int timer, unsigned milliseconds)
{
    struct kevent e;
    EV_SET(&e, THE_ONE, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, milliseconds, NULL);
    return kevent(timer, &e, 1, NULL, 0, NULL);
}

void fd_timer_clear(int timer)
{
    struct kevent e;
    (void)take(timer, &e);
}
