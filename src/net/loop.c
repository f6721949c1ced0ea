/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/loop.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"

int loop_init(struct loop *l, const struct loop_way *way)
{
    *l = (struct loop){.way = way, .fd = -1, .now_ms = now_ms()};
    return way->init(l);
}

void loop_free(struct loop *l)
{
    if (l->way)
        l->way->free(l);
}

int loop_add(struct loop *l, struct watch *w, bool level)
{
    return l->way->add(l, w, level);
}

int loop_change(struct loop *l, struct watch *w, unsigned what)
{
    return l->way->change(l, w, what);
}

void loop_again(struct loop *l, struct watch *w, unsigned what)
{
    if (l->way->again && w->fd >= 0)
        l->way->again(l, w, what);
}

/* What is still to be told of one goes to another, or to nobody. */
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
    l->way->drop(l, w);
    pass_current(l, w, NULL);
    w->fd = -1;
}

void loop_remove(struct loop *l, struct watch *w)
{
    int fd = w->fd;
    if (fd < 0)
        return;
    l->way->closing(l, w);
    pass_current(l, w, NULL);
    w->fd = -1;
    close(fd);
}

void loop_move(struct loop *l, struct watch *from, struct watch *to)
{
    to->fd = from->fd;
    l->way->move(l, from, to);
    pass_current(l, from, to);
    from->fd = -1;
}

int loop_turn(struct loop *l, int timeout_ms)
{
    unsigned what[sizeof(l->current) / sizeof(l->current[0])];
    int n = l->way->wait(l, timeout_ms, what);
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
