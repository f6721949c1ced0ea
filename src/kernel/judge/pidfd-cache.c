/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Descriptors of threads that call often. Opening and closing one takes longer than all else that
 * is needed to copy a socket.
 *
 * One that was opened for a number stays that very thread's; when the thread has ended, nothing can
 * be done with it. So whatever it still copies from was alive after the request was received, and
 * had the number that the request names: it is the caller if the request is valid afterwards, since
 * two that live cannot share a number. That is true of threads, not of processes, which go on
 * without the thread that was asked for: before 6.9, where only those can be opened, nothing is
 * kept.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/judge/judge.h"
#include "kernel/judge/pidfd-cache.h"
#include "kernel/judge/target.h"

enum { THREAD = O_EXCL }; /* PIDFD_THREAD */

static int copy_fd(const struct held_pidfd *t, int fd)
{
    int copy = (int)syscall(SYS_pidfd_getfd, t->fd, fd, 0);
    return copy < 0 ? -errno : copy;
}

static void close_held(struct held_pidfd *t)
{
    if (t->tid)
        close(t->fd);
    t->tid = 0;
}

int pidfd_cache_take_fd(struct judge *j, const struct request *r, int fd)
{
    struct held_pidfd *t = &j->pidfds.held[(unsigned)r->tid % HELD_PIDFDS];
    int copy = t->tid == r->tid ? copy_fd(t, fd) : -ESRCH;
    if (copy >= 0 || copy == -EBADF)
        return copy;
    close_held(t);
    t->fd = (int)syscall(SYS_pidfd_open, r->tid, THREAD);
    if (t->fd < 0)
        return target_take_fd(j, r, fd);
    t->tid = r->tid;
    copy = copy_fd(t, fd);
    return copy >= 0 || copy == -EBADF ? copy : target_take_fd(j, r, fd);
}
