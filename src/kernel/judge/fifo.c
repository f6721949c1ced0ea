/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What open() does with a FIFO and O_NONBLOCK, and what it takes from there to one that waits:
 *
 *   reading   succeeds at once, and counts as a reader from then on, as one that sleeps in open()
 *             does. A writer has come when there is something to read, when there is an end of file
 *             (POLLHUP tells only of writers that came later than we did), or when the pipe is
 * empty and not at its end, which tee() says without taking anything out
 *
 *   writing   fails (ENXIO) as long as there is no reader. One that sleeps would count as a writer
 *             meanwhile, and let readers in who sleep as well. So we open both ends and close the
 *             reading one. A reader has come when somebody has opened the FIFO: no writer can
 *
 * That somebody has opened it inotify tells. It does so when open() returns, which is at once for
 * who finds the end that we hold.
 *
 * Opening both ends lets writers go that sleep at the same FIFO in the kernel. Those are outside of
 * the sandbox, since inside all who write are judged when one is; and whoever may read from the
 * FIFO could do the same to them. Who may not read has to look again and again instead.
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

/* O_NONBLOCK was ours. */
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

/* Nothing is left in it: what tee() has copied is thrown away. */
static int scratch[2] = {-1, -1};

static bool has_writer(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    char byte;
    if (poll(&p, 1, 0) > 0)
        return true; /* bytes, or one that came and went */
    if (scratch[0] < 0 && pipe2(scratch, O_CLOEXEC | O_NONBLOCK) < 0)
        return false; /* it writes or goes in the end */
    ssize_t n = tee(fd, scratch[1], 1, SPLICE_F_NONBLOCK);
    if (n > 0)
        (void)!read(scratch[0], &byte, 1);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/* ---- writers ---- */

/* A writer without a reader, for as long as we keep it. */
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

/* Trying to write is writing: a reader that sleeps goes on, and must not find that we have left. So
 * what was opened once is what is given away. */
static int try_writing(const struct fifo_end *e, bool opened)
{
    int fd = e->held >= 0 && !opened && !has_reader(e->held) ? -ENXIO : open_again(e->fd, e->flags);
    if (fd == -ENXIO && opened && e->may_read)
        fd = open_alone(e->fd, e->flags); /* it has come and gone: we write to nobody */
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
