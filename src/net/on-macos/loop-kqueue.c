/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The kqueue loop. Sockets are edge-triggered (EV_CLEAR) for both directions, so no call is needed
 * when interest changes. Reading and writing are separate events: one socket may have two in a
 * turn.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/loop.h"

static int kqueue_init(struct loop *l)
{
    l->fd = kqueue();
    if (l->fd < 0)
        return -errno;
    fcntl(l->fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

static void kqueue_free(struct loop *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    loop_table_free(l);
}

static int change_one(const struct loop *l, int fd, int filter, int flags)
{
    struct kevent e;
    EV_SET(&e, (uintptr_t)fd, (int16_t)filter, (uint16_t)flags, 0, 0, NULL);
    return kevent(l->fd, &e, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

static int kqueue_add(struct loop *l, struct watch *w, bool level)
{
    if (!loop_table_has_room(l, w->fd))
        return -ENOMEM;
    int err = change_one(l, w->fd, EVFILT_READ, level ? EV_ADD : EV_ADD | EV_CLEAR);
    if (err == 0 && !level)
        err = change_one(l, w->fd, EVFILT_WRITE, EV_ADD | EV_CLEAR);
    if (err == 0)
        l->by_fd[w->fd] = (struct watched){w, level};
    return err;
}

/* Removing what is not there is fine. */
static int kqueue_change(struct loop *l, struct watch *w, unsigned what)
{
    static const struct {
        unsigned what;
        int filter;
    } both[] = {{LOOP_IN, EVFILT_READ}, {LOOP_OUT, EVFILT_WRITE}};
    int err = 0;
    for (size_t i = 0; i < 2; i++)
        if (what & both[i].what)
            err = change_one(l, w->fd, both[i].filter, EV_ADD) < 0 ? -errno : err;
        else
            (void)change_one(l, w->fd, both[i].filter, EV_DELETE);
    return err;
}

static void kqueue_drop(struct loop *l, struct watch *w)
{
    (void)change_one(l, w->fd, EVFILT_READ, EV_DELETE);
    (void)change_one(l, w->fd, EVFILT_WRITE, EV_DELETE);
    l->by_fd[w->fd].watch = NULL;
}

/* The kernel drops a closed descriptor itself, even if another process has the socket. */
static void kqueue_closing(struct loop *l, struct watch *w)
{
    l->by_fd[w->fd].watch = NULL;
}

/* The end of reading is what a peer does that has nothing more to send; the end of writing means
 * that it is gone. */
static unsigned event_to_what(const struct kevent *e)
{
    bool end = e->flags & EV_EOF, failed = e->flags & EV_ERROR || (end && e->fflags);
    unsigned what = e->filter == EVFILT_READ ? LOOP_IN : LOOP_OUT;
    if (end && e->filter == EVFILT_READ)
        what |= LOOP_LAST;
    if (failed || (end && e->filter == EVFILT_WRITE))
        what |= LOOP_GONE | LOOP_IN | LOOP_OUT | LOOP_LAST;
    return what;
}

static int kqueue_turn(struct loop *l, int timeout_ms, unsigned *what)
{
    struct kevent events[sizeof(l->current) / sizeof(l->current[0])];
    struct timespec most = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    int n = kevent(l->fd, NULL, 0, events, sizeof(events) / sizeof(events[0]),
                   timeout_ms < 0 ? NULL : &most);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        l->current[i] = l->by_fd[events[i].ident].watch;
        what[i] = event_to_what(&events[i]);
    }
    return n;
}

const struct loop_ops loop_native = {
    .init = kqueue_init,
    .free = kqueue_free,
    .add = kqueue_add,
    .change = kqueue_change,
    .drop = kqueue_drop,
    .closing = kqueue_closing,
    .move = loop_table_move,
    .wait = kqueue_turn,
};
