/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The table. Entries are in no order; each FIFO entry knows which FIFO it waits at, and those at
 * the same one share a watch and the end that is held for readers. All of it happens in the
 * judge's thread, between two calls.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/fifo.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"

enum {
    WAITING_MAX = 8192,
    DESCRIPTORS_LEFT = 64, /* that judging takes */
    /* in microseconds, as all times here */
    LOOK = 20000,      /* between two looks whether a caller is still there */
    SOON = 1000,       /* until the first, for those who have to be tried again */
    LOOKS_TAKE = 1000, /* at most, in one go */
    FEW = 16,          /* FIFOs that are looked at although we are told of them */
};

struct waiting {
    struct request r;
    uint64_t number;     /* in the order of coming */
    struct fifo_end end; /* a FIFO's; else fd is FIFO_NONE */
    uint64_t due;        /* when it is looked at next */
    uint64_t until;      /* when its time is over; 0: never */
    uint32_t pause;
    int late;
};

/* One judge in a process. Memory that nobody waits in is never touched. */
static struct waiting list[WAITING_MAX];
static uint32_t count, cursor;
static uint64_t next_look, last_sweep;
static int events = -1;    /* inotify */
static bool still_waiting; /* list[cursor] is being tried again, and has not ended */

static uint64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static bool is_fifo(const struct waiting *e)
{
    return e->end.ino != 0;
}

struct fifo_place {
    dev_t dev;
    ino_t ino;
};

static bool waits_at(const struct waiting *e, struct fifo_place at)
{
    return e->end.ino == at.ino && e->end.dev == at.dev;
}

static struct fifo_place place_of(const struct waiting *e)
{
    return (struct fifo_place){e->end.dev, e->end.ino};
}

/* ---- coming and going ---- */

/* Others at the same FIFO take over what it held and was told. */
static void remove_at(uint32_t i)
{
    struct waiting gone = list[i];
    list[i] = list[--count];
    bool watched = false;
    for (uint32_t k = 0; is_fifo(&gone) && k < count; k++) {
        if (!waits_at(&list[k], place_of(&gone)))
            continue;
        watched |= list[k].end.watch == gone.end.watch;
        if (gone.end.held >= 0 && !fifo_reads(&list[k].end) && list[k].end.held < 0)
            list[k].end.held = steal_fd(&gone.end.held);
    }
    if (!is_fifo(&gone))
        return;
    if (gone.end.watch >= 0 && !watched)
        inotify_rm_watch(events, gone.end.watch);
    fifo_end(&gone.end);
}

static void answer_at(struct judge *j, uint32_t i, int value)
{
    struct request r = list[i].r;
    remove_at(i);
    judge_send(j->listener, r.id, value);
}

/* Gives the descriptor away, or the error. */
static void finish_at(struct judge *j, uint32_t i, int fd)
{
    struct request r = list[i].r;
    bool cloexec = list[i].end.flags & O_CLOEXEC;
    if (fd < 0) {
        answer_at(j, i, fd);
        return;
    }
    remove_at(i);
    judge_send_fd(j->listener, r.id, fd, cloexec);
}

/* Forgets those whose callers are gone; not at every call of somebody who fills the table. */
static void remove_dead(const struct judge *j)
{
    enum { SELDOM = 200000 };
    if (clock_now() - last_sweep < SELDOM)
        return;
    last_sweep = clock_now();
    for (uint32_t i = count; i-- > 0;)
        if (!request_is_valid(j, &list[i].r))
            remove_at(i);
}

/* fd: the highest that is open, more or less; -1: any. */
static bool has_room(const struct judge *j, int fd)
{
    static rlim_t most;
    struct rlimit limit;
    if (most == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        most = limit.rlim_cur;
    bool full = count == WAITING_MAX || (fd >= 0 && (rlim_t)fd + DESCRIPTORS_LEFT >= most);
    if (full)
        remove_dead(j);
    return count < WAITING_MAX && !(fd >= 0 && (rlim_t)fd + DESCRIPTORS_LEFT >= most);
}

/* due, until and pause are set here. */
static struct waiting *add_entry(const struct waiting *e, uint32_t pause)
{
    struct waiting *added = &list[count++];
    static uint64_t last;
    *added = *e;
    added->number = ++last;
    added->pause = pause;
    added->due = clock_now() + pause;
    if (count == 1 || added->due < next_look)
        next_look = added->due;
    return added;
}

static const struct answer later = {.sent = true};

/* ---- FIFOs ---- */

/* Whether we are told when something happens to it. */
static bool is_watched(const struct waiting *e)
{
    if (e->end.watch < 0 || fifo_reads(&e->end) || e->end.held >= 0)
        return e->end.watch >= 0;
    for (uint32_t i = 0; i < count; i++)
        if (list[i].end.held >= 0 && waits_at(&list[i], place_of(e)))
            return true;
    return false;
}

/* Opens as who calls, who may be somebody else than the last one. -EAGAIN: it waits on. */
static int try_fifo(struct judge *j, uint32_t i, bool opened)
{
    int err = creds_take(j, &list[i].r);
    return err < 0 ? err : fifo_try(&list[i].end, opened);
}

/* If no writer has come for the reader that has waited longest, none has for the others. */
static bool has_no_writer(struct judge *j, struct fifo_place at)
{
    uint32_t oldest = WAITING_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (waits_at(&list[i], at) && fifo_reads(&list[i].end) &&
            (oldest == WAITING_MAX || list[i].number < list[oldest].number))
            oldest = i;
    if (oldest == WAITING_MAX)
        return true;
    int fd = try_fifo(j, oldest, false);
    if (fd == -EAGAIN)
        return true;
    finish_at(j, oldest, fd);
    return false;
}

/* Lets go those who need not wait any more. Whoever is let go may be whom another one waits for. */
static void retry_fifo(struct judge *j, struct fifo_place at, bool opened)
{
    for (bool changed = true; changed; opened = false) {
        bool no_writer = has_no_writer(j, at), no_reader = false;
        changed = !no_writer;
        for (uint32_t i = count; i-- > 0;) {
            if (!waits_at(&list[i], at) || (fifo_reads(&list[i].end) ? no_writer : no_reader))
                continue;
            bool reads = fifo_reads(&list[i].end);
            int fd = try_fifo(j, i, opened);
            no_reader |= fd == -EAGAIN && !reads;
            changed |= fd != -EAGAIN;
            if (fd != -EAGAIN)
                finish_at(j, i, fd);
        }
    }
}

static bool may_read(struct judge *j, const struct pinned *p)
{
    /* what has no path the target holds already */
    return p->path_len == 0 || p->path[0] != '/' ||
           would_allow(j, OP_FILE_READ_DATA, p->path, p->path_len, &p->st);
}

/* Nobody hears of what happened before it waited, unless more happens than we can hear of. As whom
 * we act may have changed then. */
static int read_pending_events(struct judge *j, const struct request *r)
{
    enum { ENOUGH = 4 };
    for (int i = 0; i < ENOUGH && events >= 0 && wait_read_events(j); i++)
        ;
    return creds_take(j, r);
}

/* Only the first who waits at a FIFO opens both ends: others would be told of that. */
static void begin_waiting(struct waiting *e)
{
    bool alone = true;
    for (uint32_t i = 0; i < count; i++)
        alone &= !waits_at(&list[i], place_of(e));
    if (alone)
        fifo_hold(&e->end);
    if (events < 0)
        events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    fifo_watch(&e->end, events);
    add_entry(e, is_watched(e) ? LOOK : SOON);
}

struct answer wait_fifo(struct judge *j, const struct request *r, struct pinned *p, int flags)
{
    struct waiting e = {.r = *r};
    bool reads = may_read(j, p);
    if (!has_room(j, p->fd))
        return answer_errno(ENFILE);
    int fd = read_pending_events(j, r);
    if (fd == 0)
        fd = fifo_begin(&e.end, p->fd, flags, reads);
    if (fd >= 0)
        judge_send_fd(j->listener, r->id, fd, flags & O_CLOEXEC);
    if (fd != -EAGAIN)
        return fd < 0 ? answer_value(fd) : later;
    p->fd = -1; /* the entry's now */
    begin_waiting(&e);
    /* what came before there was a watch, and those who have waited for this one */
    retry_fifo(j, place_of(&e), false);
    return later;
}

/* ---- calls that are made again ---- */

/* How long a socket has for what it does; 0: for ever. */
static uint64_t patience_of(int sock)
{
    struct timeval t = {0};
    socklen_t n = sizeof(t);
    if (getsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, &n) < 0 || t.tv_sec < 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

struct answer wait_again(struct judge *j, const struct request *r, int sock, int late, int full)
{
    struct waiting e = {.r = *r, .end = {.fd = FIFO_NONE, .held = FIFO_NONE}, .late = late};
    if (j->again) {
        still_waiting = true;
        return later;
    }
    if (!has_room(j, -1))
        return answer_errno(full);
    uint64_t patience = patience_of(sock);
    e.until = patience ? clock_now() + patience : 0;
    add_entry(&e, SOON);
    return later;
}

/* Whether it waits on. */
static bool retry_call(struct judge *j, uint32_t i)
{
    struct request r = list[i].r;
    still_waiting = false;
    j->again = true;
    judge_call(j, &r);
    j->again = false;
    return still_waiting;
}

/* ---- looking ---- */

/* Whether the entry is still there. */
static bool retry_entry(struct judge *j, uint32_t i, uint64_t now)
{
    struct waiting *e = &list[i];
    if (!request_is_valid(j, &e->r)) {
        remove_at(i);
        return false;
    }
    if (target_is_interrupted(j, &e->r)) {
        answer_at(j, i, -EINTR);
        return false;
    }
    bool told = is_fifo(e) && is_watched(e);
    e->pause = told || e->pause >= LOOK / 2 ? LOOK : 2 * e->pause;
    e->due = now + e->pause;
    if (told && count > FEW)
        return true;
    if (is_fifo(e)) {
        uint32_t before = count;
        retry_fifo(j, place_of(e), false);
        return count == before;
    }
    if (retry_call(j, i)) {
        if (!e->until || now < e->until)
            return true;
        answer_at(j, i, -e->late);
    } else {
        remove_at(i);
    }
    return false;
}

static uint64_t earliest(void)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        first = list[i].due < first ? list[i].due : first;
    return first;
}

/* In turn, and where there is not time for all of them the next ones in the next look. When one has
 * not waited in vain there may be room for another: that is right after the next call. */
void wait_retry(struct judge *j)
{
    if (count == 0)
        return;
    uint64_t now = clock_now(), over = now + LOOKS_TAKE;
    if (now < next_look)
        return;
    uint32_t left = count, before = count;
    for (; left > 0 && count > 0 && clock_now() < over; left--) {
        if (cursor >= count)
            cursor = 0;
        if (list[cursor].due > now || retry_entry(j, cursor, now))
            cursor++;
    }
    next_look = count < before ? now : left ? now + LOOK : earliest();
}

const struct timespec *wait_timeout(const struct timespec *other)
{
    static struct timespec pause;
    if (count == 0)
        return other;
    uint64_t now = clock_now(), time = next_look > now ? next_look - now : 0;
    if (other && (uint64_t)other->tv_sec * 1000000 + (uint64_t)other->tv_nsec / 1000 <= time)
        return other;
    pause = (struct timespec){(time_t)(time / 1000000), (long)(time % 1000000) * 1000};
    return &pause;
}

/* ---- being told ---- */

int wait_event_fd(void)
{
    return count ? events : -1;
}

static void retry_watched(struct judge *j, int watch)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_fifo(&list[i]) && list[i].end.watch == watch) {
            retry_fifo(j, place_of(&list[i]), true);
            return;
        }
}

/* Too much has happened to be told. */
static void retry_all_fifos(struct judge *j)
{
    for (uint32_t i = count; i-- > 0;)
        if (i < count && is_fifo(&list[i]))
            retry_fifo(j, place_of(&list[i]), false);
}

bool wait_read_events(struct judge *j)
{
    union {
        struct inotify_event first;
        char bytes[2048];
    } block;
    ssize_t n = read(events, block.bytes, sizeof(block.bytes));
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(block.bytes + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        if (e->mask & IN_Q_OVERFLOW)
            retry_all_fifos(j);
        else if (e->mask & IN_OPEN)
            retry_watched(j, e->wd);
    }
    return n > 0;
}
