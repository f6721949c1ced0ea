/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/fd-watch.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

void fd_watch_init(struct fd_watch *h)
{
    *h = (struct fd_watch){.fd = -1};
}

/* A free slot, new if necessary. NULL when there are too many. */
static struct watched_fd *free_place(struct fd_watch *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].fd < 0)
            return &h->at[i];
    struct watched_fd *grown =
        h->n < FD_WATCH_MAX ? realloc(h->at, (h->n + 1) * sizeof(*grown)) : NULL;
    if (!grown)
        return NULL;
    h->at = grown;
    grown[h->n] = (struct watched_fd){.fd = -1};
    return &grown[h->n++];
}

int fd_watch_add(struct fd_watch *h, int fd, void (*fn)(void *arg, int fd), void *arg,
                 struct bk_err *err)
{
    struct watched_fd *place = free_place(h);
    if (!place)
        return err_set(err, BK_E_LIMIT, "too many file descriptors to watch");
    if (h->fd < 0)
        h->fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)(place - h->at)};
    if (h->fd < 0 || epoll_ctl(h->fd, EPOLL_CTL_ADD, fd, &e) < 0)
        return err_sys(err, "cannot watch file descriptor %d", fd);
    *place = (struct watched_fd){fd, fn, arg};
    return 0;
}

void fd_watch_drop(struct fd_watch *h, int fd)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].fd == fd) {
            epoll_ctl(h->fd, EPOLL_CTL_DEL, fd, NULL);
            h->at[i].fd = -1;
        }
}

/* One at a time: a callback may drop or add watches, which moves them all. And a limited number: a
 * busy descriptor must not starve the rest. */
void fd_watch_all(struct fd_watch *h)
{
    enum { AT_ONCE = 512 };
    struct epoll_event e;
    for (int i = 0; i < AT_ONCE && h->fd >= 0 && epoll_wait(h->fd, &e, 1, 0) == 1; i++) {
        struct watched_fd one =
            e.data.u64 < h->n ? h->at[e.data.u64] : (struct watched_fd){.fd = -1};
        if (one.fd < 0)
            break;
        one.fn(one.arg, one.fd);
    }
}

void fd_watch_end(struct fd_watch *h)
{
    if (h->fd >= 0)
        close(h->fd);
    free(h->at);
    fd_watch_init(h);
}
