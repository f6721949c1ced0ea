/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * open() with O_NONBLOCK on a FIFO, and how to get from there to one that blocks:
 *
 *   reading   succeeds at once, and counts as a reader from then on, like one that sleeps in
 *             open(). A writer has come if there is data, if there is an end of file (POLLHUP
 *             reports only writers that came after us), or if the pipe is empty but not at its
 *             end; tee() tells these apart without consuming data.
 *
 *   writing   fails with ENXIO while there is no reader. A writer that sleeps in open() would
 *             count and wake up readers that sleep, too. So we open both ends and close the
 *             reading one. A reader has come once another process opens the FIFO, because no
 *             other writer can.
 *
 * inotify reports that a process has opened the FIFO. It does so when open() returns, which is at
 * once for a process that finds the end that we hold.
 *
 * Opening both ends wakes up writers that sleep at the same FIFO in the kernel. Those are outside
 * the sandbox, because inside it, writers are either all judged or none. A process that may read
 * from the FIFO could wake them up as well; a caller that may not read is retried instead.
 */

#include "kernel/judge/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

static int open_again(int fd, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", fd);
    int got =
        open(name, (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return got < 0 ? -errno : got;
}

/* Removes the O_NONBLOCK that we added. */
static int made_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

bool fifo_reads(const struct fifo_end *e)
{
    return (e->flags & O_ACCMODE) == O_RDONLY;
}

/* ---- readers ---- */

/* A pipe for what tee() copies, which is then discarded. */
static int scratch[2] = {-1, -1};

static bool has_writer(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    char byte;
    if (poll(&p, 1, 0) > 0)
        return true; /* data, or a writer that came and left */
    if (scratch[0] < 0 && pipe2(scratch, O_CLOEXEC | O_NONBLOCK) < 0)
        return false; /* the writer will write or leave at some point */
    ssize_t n = tee(fd, scratch[1], 1, SPLICE_F_NONBLOCK);
    if (n > 0)
        (void)!read(scratch[0], &byte, 1);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/* ---- writers ---- */

/* Opens a writer without a reader. */
static int open_alone(int pin, int flags)
{
    OWN(fd) int reader = open_again(pin, O_RDONLY);
    return reader < 0 ? reader : open_again(pin, flags);
}

static bool has_reader(int fd)
{
    struct pollfd p = {fd, POLLOUT, 0};
    return poll(&p, 1, 0) >= 0 && !(p.revents & POLLERR);
}

/* ---- both ---- */

int fifo_begin(struct fifo_end *e, int pin, int flags, bool may_read)
{
    struct stat st;
    if (fstat(pin, &st) < 0)
        return -errno;
    *e = (struct fifo_end){.fd = pin,
                           .held = FIFO_NONE,
                           .watch = FIFO_NONE,
                           .flags = flags,
                           .may_read = may_read,
                           .dev = st.st_dev,
                           .ino = st.st_ino};
    int fd = open_again(pin, flags);
    if (fd == -ENXIO && !fifo_reads(e))
        return -EAGAIN;
    if (fd < 0)
        return fd;
    if (!fifo_reads(e) || has_writer(fd))
        return made_blocking(fd);
    close(pin);
    e->fd = fd;
    return -EAGAIN;
}

void fifo_hold(struct fifo_end *e)
{
    int fd = fifo_reads(e) || !e->may_read ? -1 : open_alone(e->fd, e->flags);
    e->held = fd < 0 ? FIFO_NONE : fd;
}

void fifo_watch(struct fifo_end *e, int events)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", e->fd);
    int number = events < 0 ? -1 : inotify_add_watch(events, name, IN_OPEN);
    e->watch = number < 0 ? FIFO_NONE : number;
}

/* Opening for writing wakes up a reader that sleeps, which must not find that we have left. So the
 * descriptor that was opened is the one that is given away. */
static int try_writing(const struct fifo_end *e, bool opened)
{
    int fd = e->held >= 0 && !opened && !has_reader(e->held) ? -ENXIO : open_again(e->fd, e->flags);
    if (fd == -ENXIO && opened && e->may_read)
        fd = open_alone(e->fd, e->flags); /* the reader came and left: the writer has no reader */
    if (fd == -ENXIO)
        return -EAGAIN;
    return fd < 0 ? fd : made_blocking(fd);
}

int fifo_try(struct fifo_end *e, bool opened)
{
    if (!fifo_reads(e))
        return try_writing(e, opened);
    return has_writer(e->fd) ? made_blocking(steal_fd(&e->fd)) : -EAGAIN;
}

void fifo_end(struct fifo_end *e)
{
    if (e->fd >= 0)
        close(steal_fd(&e->fd));
    if (e->held >= 0)
        close(steal_fd(&e->held));
}
