/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/fd-watch.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "system/fd-group.h"

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
        h->fd = fd_group_open();
    if (h->fd < 0 || fd_group_add(h->fd, fd, (uint64_t)(place - h->at)) < 0)
        return err_sys(err, "cannot watch file descriptor %d", fd);
    *place = (struct watched_fd){fd, fn, arg};
    return 0;
}

void fd_watch_drop(struct fd_watch *h, int fd)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].fd == fd) {
            fd_group_remove(h->fd, fd);
            h->at[i].fd = -1;
        }
}

/* One at a time: a callback may drop or add watches, which moves them all. And a limited number: a
 * busy descriptor must not starve the rest. */
void fd_watch_all(struct fd_watch *h)
{
    enum { AT_ONCE = 512 };
    uint64_t at;
    for (int i = 0; i < AT_ONCE && h->fd >= 0 && fd_group_next(h->fd, &at) == 1; i++) {
        struct watched_fd one = at < h->n ? h->at[at] : (struct watched_fd){.fd = -1};
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
