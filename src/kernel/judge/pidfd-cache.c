/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Pidfds of threads that call often. Opening and closing one takes longer than the rest of copying
 * a socket.
 *
 * A pidfd stays with its thread; once the thread has exited, it is useless. So if copying through
 * it still works, its thread was alive after the request arrived, with the tid that the request
 * names. It is the caller if the request is still valid afterwards, because two living threads
 * cannot share a tid. This holds for threads but not for processes, which outlive the thread that
 * was opened. Kernels before 6.9 can open only processes, so nothing is cached there.
 */

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/judge/judge.h"
#include "kernel/judge/pidfd-cache.h"
#include "kernel/judge/target.h"

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
    t->fd = target_pidfd(r);
    if (t->fd < 0)
        return target_take_fd(j, r, fd);
    t->tid = r->tid;
    copy = copy_fd(t, fd);
    return copy >= 0 || copy == -EBADF ? copy : target_take_fd(j, r, fd);
}
