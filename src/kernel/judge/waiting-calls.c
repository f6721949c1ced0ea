/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The table of waiting calls. Entries are in no order. Each FIFO entry records its FIFO; entries at
 * the same FIFO share a watch and the end that is held for readers. All of this happens in the
 * judge's thread, between two calls.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/fifo.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/questions.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"

enum {
    WAITING_MAX = 8192,
    DESCRIPTORS_LEFT = 64, /* that judging needs */
    /* times are in microseconds */
    LOOK = 20000,      /* between two checks whether a caller is still there */
    SOON = 1000,       /* until the first retry */
    LOOKS_TAKE = 1000, /* limit for all retries in one go */
    FEW = 16,          /* up to so many FIFOs are retried although they are watched */
};

struct waiting {
    struct request r;
    uint64_t number;     /* in order of arrival */
    struct fifo_end end; /* of a FIFO; otherwise fd is FIFO_NONE */
    uint64_t due;        /* when to retry it */
    uint64_t until;      /* when it times out; 0: never */
    uint32_t pause;
    int late;
    uint32_t question;                /* that it waits for; 0: none */
    uint32_t granted[QUESTIONS_EACH]; /* questions that were answered before */
    uint32_t ngranted;
    bool changed; /* the policy has changed: it may be allowed by now */
};

/* A process has one judge. Unused entries are never touched, so they take no memory. */
static struct waiting list[WAITING_MAX];
static uint32_t count, cursor;
static uint64_t next_look, last_sweep;
static int events = -1;    /* inotify */
static bool still_waiting; /* set if the call that is being retried must wait again */
static bool asks_again;    /* … for an answer */

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

/* ---- adding and removing ---- */

/* Passes on the held end and the watch to others at the same FIFO. */
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

/* What it refers to is free for others. */
static void leave_questions(struct judge *j, const struct waiting *e)
{
    questions_leave(&j->questions, e->question);
    for (uint32_t i = 0; i < e->ngranted; i++)
        questions_leave(&j->questions, e->granted[i]);
}

static void answer_at(struct judge *j, uint32_t i, int value)
{
    struct request r = list[i].r;
    remove_at(i);
    judge_send(j->listener, r.id, value);
}

/* Answers with the descriptor or the error. */
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

/* Removes entries whose callers are gone; rarely, in case a program keeps filling the table. */
static void remove_dead(struct judge *j)
{
    enum { SELDOM = 200000 };
    if (clock_now() - last_sweep < SELDOM)
        return;
    last_sweep = clock_now();
    for (uint32_t i = count; i-- > 0;)
        if (!request_is_valid(j, &list[i].r)) {
            leave_questions(j, &list[i]);
            remove_at(i);
        }
}

/* fd: roughly the highest open descriptor; -1: any. */
static bool has_room(struct judge *j, int fd)
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

/* Sets due and pause. */
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

/* Whether inotify reports what it waits for. */
static bool is_watched(const struct waiting *e)
{
    if (e->end.watch < 0 || fifo_reads(&e->end) || e->end.held >= 0)
        return e->end.watch >= 0;
    for (uint32_t i = 0; i < count; i++)
        if (list[i].end.held >= 0 && waits_at(&list[i], place_of(e)))
            return true;
    return false;
}

/* Opens with the credentials of this caller, which may differ from the last one's. Returns -EAGAIN
 * if it must wait on. */
static int try_fifo(struct judge *j, uint32_t i, bool opened)
{
    int err = creds_take(j, &list[i].r);
    return err < 0 ? err : fifo_try(&list[i].end, opened);
}

/* If no writer has come for the oldest reader, none has come for the others. */
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

/* Answers the calls at a FIFO that need not wait any more. Each may be the end that another one
 * waits for. */
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
    /* the target already holds what has no path */
    return p->path_len == 0 || p->path[0] != '/' ||
           would_allow(j, OP_FILE_READ_DATA, p->path, p->path_len, &p->st);
}

/* Reads events from before this call first, so that it does not see them, unless there are too
 * many. That may switch credentials. */
static int read_pending_events(struct judge *j, const struct request *r)
{
    enum { ENOUGH = 4 };
    for (int i = 0; i < ENOUGH && events >= 0 && wait_read_events(j); i++)
        ;
    return creds_take(j, r);
}

/* Only the first that waits at a FIFO opens both ends: the others would get events of that. */
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
    p->fd = -1; /* owned by the entry now */
    begin_waiting(&e);
    /* check for what came before the watch, and for calls that waited for this one */
    retry_fifo(j, place_of(&e), false);
    return later;
}

/* ---- calls that are retried ---- */

/* The socket's timeout for sending; 0: none. */
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

/* A call that asks more than once keeps what it was granted, as far as there is room. */
static void ask_next(struct judge *j, struct waiting *e)
{
    if (e->question && e->ngranted == QUESTIONS_EACH) {
        questions_leave(&j->questions, e->granted[0]);
        memmove(e->granted, e->granted + 1, --e->ngranted * sizeof(e->granted[0]));
    }
    if (e->question)
        e->granted[e->ngranted++] = e->question;
    e->question = j->questions.pending;
    questions_join(&j->questions, e->question);
}

struct answer wait_question(struct judge *j, const struct request *r)
{
    struct waiting e = {.r = *r, .end = {.fd = FIFO_NONE, .held = FIFO_NONE}};
    if (j->again) {
        still_waiting = asks_again = true;
        return later;
    }
    if (!has_room(j, -1))
        return answer_errno(EPERM);
    ask_next(j, add_entry(&e, LOOK));
    return later;
}

void wait_policy_changed(void)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].question)
            list[i].changed = true;
    next_look = 0;
}

/* Returns whether it must wait on. */
static bool retry_call(struct judge *j, uint32_t i)
{
    struct request r = list[i].r;
    uint32_t ids[QUESTIONS_EACH + 1], n = list[i].ngranted;
    memcpy(ids, list[i].granted, sizeof(list[i].granted));
    ids[n++] = list[i].question; /* 0 is none */
    questions_grant(&j->questions, ids, n);
    still_waiting = asks_again = false;
    j->again = true;
    judge_call(j, &r);
    j->again = false;
    questions_grant_end(&j->questions);
    if (asks_again && j->questions.pending != list[i].question)
        ask_next(j, &list[i]);
    return still_waiting;
}

/* ---- retrying ---- */

/* A call that waits for an answer. Signals wait, too, as for any call about a file; a question
 * stops the caller, so it always has one. Returns whether the entry is still there. */
static bool retry_asked(struct judge *j, uint32_t i, uint64_t now)
{
    list[i].due = now + LOOK;
    if (!list[i].changed && !questions_answered(&j->questions, list[i].question))
        return true;
    list[i].changed = false;
    if (retry_call(j, i))
        return true;
    struct waiting gone = list[i];
    remove_at(i);
    questions_done(j, gone.question);
    gone.question = 0;
    leave_questions(j, &gone);
    return false;
}

/* Returns whether the entry is still there. */
static bool retry_entry(struct judge *j, uint32_t i, uint64_t now)
{
    struct waiting *e = &list[i];
    if (!request_is_valid(j, &e->r)) {
        leave_questions(j, e);
        remove_at(i);
        return false;
    }
    if (e->question)
        return retry_asked(j, i, now);
    if (target_is_interrupted(j, &e->r)) {
        answer_at(j, i, -EINTR);
        return false;
    }
    bool watched = is_fifo(e) && is_watched(e);
    e->pause = watched || e->pause >= LOOK / 2 ? LOOK : 2 * e->pause;
    e->due = now + e->pause;
    if (watched && count > FEW)
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

/* Retries in turn; if there is no time for all, the others are next. If one has finished, another
 * may be able to as well: retries again right after the next call. */
void wait_retry(struct judge *j)
{
    if (count == 0)
        return;
    if (j->questions.nopen)
        questions_sweep(j);
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

/* ---- events ---- */

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

/* inotify lost events. */
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
