/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The part of the loop that both implementations share. A handler may close or move any watch,
 * including ones whose events are still pending in this turn; pass_current() updates those.
 */

#include "net/loop.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

int loop_init(struct loop *l, const struct loop_ops *ops)
{
    *l = (struct loop){.ops = ops, .fd = -1, .now_ms = now_ms()};
    return ops->init(l);
}

void loop_free(struct loop *l)
{
    if (l->ops)
        l->ops->free(l);
}

int loop_add(struct loop *l, struct watch *w, bool level)
{
    return l->ops->add(l, w, level);
}

int loop_change(struct loop *l, struct watch *w, unsigned what)
{
    return l->ops->change(l, w, what);
}

void loop_again(struct loop *l, struct watch *w, unsigned what)
{
    if (l->ops->again && w->fd >= 0)
        l->ops->again(l, w, what);
}

/* Redirects pending events of one watch to another, or drops them. */
static void pass_current(struct loop *l, const struct watch *from, struct watch *to)
{
    for (int i = 0; i < l->ncurrent; i++)
        if (l->current[i] == from)
            l->current[i] = to;
}

void loop_forget(struct loop *l, struct watch *w)
{
    if (w->fd < 0)
        return;
    l->ops->drop(l, w);
    pass_current(l, w, NULL);
    w->fd = -1;
}

void loop_remove(struct loop *l, struct watch *w)
{
    int fd = w->fd;
    if (fd < 0)
        return;
    l->ops->closing(l, w);
    pass_current(l, w, NULL);
    w->fd = -1;
    close(fd);
}

void loop_move(struct loop *l, struct watch *from, struct watch *to)
{
    to->fd = from->fd;
    l->ops->move(l, from, to);
    pass_current(l, from, to);
    from->fd = -1;
}

int loop_turn(struct loop *l, int timeout_ms)
{
    unsigned what[sizeof(l->current) / sizeof(l->current[0])];
    int n = l->ops->wait(l, timeout_ms, what);
    l->now_ms = now_ms();
    l->turns++;
    if (n < 0)
        return n == -EINTR ? 0 : n;
    l->ncurrent = n;
    for (int i = 0; i < n; i++)
        if (l->current[i])
            l->current[i]->ready(l->current[i], what[i]);
    l->ncurrent = 0;
    return 0;
}

bool loop_table_has_room(struct loop *l, int fd)
{
    size_t n = l->nby_fd ? l->nby_fd : 64;
    if ((size_t)fd < l->nby_fd)
        return true;
    while (n <= (size_t)fd)
        n *= 2;
    struct watched *more = realloc(l->by_fd, n * sizeof(*more));
    if (!more)
        return false;
    memset(more + l->nby_fd, 0, (n - l->nby_fd) * sizeof(*more));
    l->by_fd = more;
    l->nby_fd = n;
    return true;
}

void loop_table_free(struct loop *l)
{
    free(l->by_fd);
    l->by_fd = NULL;
    l->nby_fd = 0;
}

void loop_table_move(struct loop *l, struct watch *from, struct watch *to)
{
    l->by_fd[from->fd].watch = to;
}
