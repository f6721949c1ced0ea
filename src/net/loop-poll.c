/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The portable loop. poll() reports state, not changes. So each event is masked after it was
 * reported, until the owner asks for it again with loop_again(). A descriptor with no events left
 * is skipped entirely, because poll() would report its hang-up forever.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "net/loop.h"

struct polled {
    struct pollfd *fds;
    struct watch **watches;
    bool *level;
    size_t n, cap;
    size_t next; /* where to start reporting, so that every descriptor gets a turn */
};

static int polled_init(struct loop *l)
{
    l->set = calloc(1, sizeof(*l->set));
    return l->set ? 0 : -ENOMEM;
}

static void polled_free(struct loop *l)
{
    if (!l->set)
        return;
    free(l->set->fds);
    free(l->set->watches);
    free(l->set->level);
    free(l->set);
    l->set = NULL;
}

static bool grow_list(struct polled *p)
{
    size_t cap = p->cap ? p->cap * 2 : 64;
    struct pollfd *fds = realloc(p->fds, cap * sizeof(*fds));
    p->fds = fds ? fds : p->fds;
    struct watch **watches = realloc(p->watches, cap * sizeof(struct watch *));
    p->watches = watches ? watches : p->watches;
    bool *level = realloc(p->level, cap * sizeof(*level));
    p->level = level ? level : p->level;
    if (!fds || !watches || !level)
        return false;
    p->cap = cap;
    return true;
}

static size_t slot_of(const struct polled *p, const struct watch *w)
{
    size_t i = 0;
    while (i < p->n && p->watches[i] != w)
        i++;
    return i;
}

/* poll() skips negative descriptors. ~fd also works for descriptor 0. */
static void set_events(struct polled *p, size_t slot, short events)
{
    p->fds[slot].events = events;
    p->fds[slot].fd = events ? p->watches[slot]->fd : ~p->watches[slot]->fd;
}

static short events_of(unsigned what)
{
    return (short)((what & LOOP_IN ? POLLIN : 0) | (what & LOOP_OUT ? POLLOUT : 0));
}

static int polled_add(struct loop *l, struct watch *w, bool level)
{
    struct polled *p = l->set;
    if (p->n == p->cap && !grow_list(p))
        return -ENOMEM;
    p->watches[p->n] = w;
    p->level[p->n] = level;
    set_events(p, p->n, level ? POLLIN : POLLIN | POLLOUT);
    p->n++;
    return 0;
}

static int polled_change(struct loop *l, struct watch *w, unsigned what)
{
    size_t slot = slot_of(l->set, w);
    if (slot == l->set->n)
        return -ENOENT;
    set_events(l->set, slot, events_of(what));
    return 0;
}

static void polled_again(struct loop *l, struct watch *w, unsigned what)
{
    size_t slot = slot_of(l->set, w);
    if (slot < l->set->n)
        set_events(l->set, slot, l->set->fds[slot].events | events_of(what));
}

static void polled_drop(struct loop *l, struct watch *w)
{
    struct polled *p = l->set;
    size_t slot = slot_of(p, w);
    if (slot == p->n)
        return;
    p->n--;
    p->fds[slot] = p->fds[p->n];
    p->watches[slot] = p->watches[p->n];
    p->level[slot] = p->level[p->n];
}

static void polled_move(struct loop *l, struct watch *from, struct watch *to)
{
    size_t slot = slot_of(l->set, from);
    if (slot < l->set->n)
        l->set->watches[slot] = to;
}

static unsigned events_to_what(short events)
{
    return (events & POLLIN ? LOOP_IN : 0) | (events & POLLOUT ? LOOP_OUT : 0) |
           (events & (POLLERR | POLLHUP | POLLNVAL) ? LOOP_GONE | LOOP_IN | LOOP_OUT | LOOP_LAST
                                                    : 0);
}

static int polled_wait(struct loop *l, int timeout_ms, unsigned *what)
{
    struct polled *p = l->set;
    int ready = poll(p->fds, (nfds_t)p->n, timeout_ms), n = 0;
    int most = sizeof(l->current) / sizeof(l->current[0]);
    if (ready < 0)
        return -errno;
    for (size_t i = 0; i < p->n && n < ready && n < most; i++) {
        size_t slot = (p->next + i) % p->n;
        short events = p->fds[slot].revents;
        if (!events)
            continue;
        l->current[n] = p->watches[slot];
        what[n++] = events_to_what(events);
        if (!p->level[slot])
            set_events(p, slot, what[n - 1] & LOOP_GONE ? 0 : p->fds[slot].events & ~events);
    }
    p->next = p->n ? (p->next + (size_t)n) % p->n : 0;
    return n;
}

const struct loop_ops loop_portable = {
    .init = polled_init,
    .free = polled_free,
    .add = polled_add,
    .change = polled_change,
    .again = polled_again,
    .drop = polled_drop,
    .closing = polled_drop,
    .move = polled_move,
    .wait = polled_wait,
};
