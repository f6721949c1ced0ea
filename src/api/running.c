/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The program's side of a run. It has no thread: each call receives messages (pump), and
 * dispatching calls hand them to callbacks (deliver), one at a time and without the lock. So a
 * request from a callback, or during another thread's dispatch, still gets its reply.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/run-int.h"
#include "base/clock.h"
#include "base/own.h"
#include "policy/target.h"
#include "system/condition.h"
#include "system/fd-group.h"
#include "system/process.h"

/* ---- notes ---- */

static bool push(struct notes *list, const char *bytes, size_t n)
{
    struct note *one = malloc(sizeof(*one) + n);
    if (!one)
        return false;
    *one = (struct note){.n = n};
    memcpy(one->bytes, bytes, n);
    if (!list->first)
        list->last = &list->first;
    *list->last = one;
    list->last = &one->next;
    return true;
}

static struct note *pop(struct notes *list)
{
    struct note *one = list->first;
    if (one)
        list->first = one->next;
    return one;
}

void run_drop_notes(struct buckle_run *run)
{
    struct note *one;
    while ((one = pop(&run->waiting)) || (one = pop(&run->replies)))
        free(one);
}

/* ---- taking in ---- */

static void read_end(struct buckle_run *run, struct wire_message *m)
{
    OWN(buf) struct buf report = {0};
    struct bk_err err;
    if (m->kind == WIRE_ENDED) {
        run->status = (int)wire_take_number(m);
        run->timed_out = wire_take_number(m);
        run->cancelled = wire_take_number(m) || (run->by_signal && run->cancel_sent);
        run->ended = true;
        return;
    }
    run->cancelled = wire_take_number(m);
    wire_take_error(m, &err, &report);
    api_error_made(&run->failure, &err, &report);
}

static void read_messages(struct buckle_run *run)
{
    struct wire_message m;
    size_t at = 0;
    long size;
    while (buf_ok(&run->in) && at < run->in.n &&
           (size = wire_first(run->in.s + at, run->in.n - at, &m)) > 0) {
        if (m.kind == WIRE_ENDED || m.kind == WIRE_FAILED)
            read_end(run, &m);
        else
            push(m.kind == WIRE_REPLY ? &run->replies : &run->waiting, run->in.s + at,
                 (size_t)size);
        at += (size_t)size;
    }
    wire_forget(&run->in, at);
}

static bool has_exited(const struct buckle_run *run)
{
    struct pollfd end = {run->helper.watch, POLLIN, 0};
    return run->helper.watch < 0 || poll(&end, 1, 0) != 0;
}

/* Its process is gone, and all its messages are read. */
static void end(struct buckle_run *run)
{
    struct bk_err err;
    run->over = true;
    helper_collect(&run->helper);
    fd_group_remove(run->group, run->helper.sock);
    if (run->helper.watch >= 0)
        fd_group_remove(run->group, run->helper.watch);
    if (run->ended || run->failure)
        return;
    err_set(&err, BK_E_SYSTEM, "the process that ran the command died, and the command with it");
    api_error(&run->failure, &err, NULL);
}

static void mark_ready(const struct buckle_run *run)
{
    fd_flag_set(run->ready, run->waiting.first || run->over);
}

void run_pump(struct buckle_run *run)
{
    if (run->over)
        return;
    bool exited = has_exited(run); /* checked first, so that nothing follows */
    wire_receive(run->helper.sock, &run->in);
    read_messages(run);
    if (run->ended || run->failure || exited)
        end(run);
    mark_ready(run);
}

/* ---- delivering ---- */

static void deliver_event(struct buckle_run *run, struct wire_message *m)
{
    struct buckle_event e = {.denied = !wire_take_number(m)};
    e.time_ns = wire_take_number(m);
    e.pid = (int)wire_take_number(m);
    e.lost = wire_take_number(m);
    e.program = wire_take_text(m, NULL);
    e.operation = wire_take_text(m, NULL);
    e.target = wire_take_text(m, NULL);
    e.line = wire_take_text(m, NULL);
    e.json = wire_take_text(m, NULL);
    if (m->bad)
        return;
    if (run->store && e.denied)
        buckle_store_add(run->store, run->id, run->text ? run->text : "", e.line, e.json);
    if (run->on_event)
        run->on_event(run->event_arg, run, &e);
}

static void deliver_question(struct buckle_run *run, struct wire_message *m)
{
    struct buckle_question q;
    size_t n;
    const char *bytes = wire_take_text(m, &n);
    if (!m->bad && run->on_question && consent_question_read(bytes, n, &q.q))
        run->on_question(run->question_arg, run, &q);
}

static void deliver(struct buckle_run *run)
{
    struct wire_message m;
    struct note *one;
    while ((one = pop(&run->waiting))) {
        pthread_mutex_unlock(&run->lock);
        wire_first(one->bytes, one->n, &m);
        if (m.kind == WIRE_EVENT)
            deliver_event(run, &m);
        else if (m.kind == WIRE_QUESTION)
            deliver_question(run, &m);
        free(one);
        pthread_mutex_lock(&run->lock);
    }
}

/* Waits until no other thread delivers; false if that takes too long. */
static bool become_deliverer(struct buckle_run *run, int milliseconds)
{
    uint64_t now = now_ms(), until = now + (uint64_t)(milliseconds < 0 ? 0 : milliseconds);
    while (run->delivering && (milliseconds < 0 || now < until)) {
        condition_wait(&run->idle, &run->lock, milliseconds < 0 ? -1 : (int)(until - now));
        now = now_ms();
    }
    if (run->delivering)
        return false;
    run->delivering = true;
    return true;
}

int buckle_run_dispatch(struct buckle_run *run, int milliseconds, struct buckle_error **error)
{
    int result = 0;
    pthread_mutex_lock(&run->lock);
    if (become_deliverer(run, milliseconds)) {
        run_pump(run);
        if (!run->waiting.first && !run->over) {
            pthread_mutex_unlock(&run->lock);
            poll(&(struct pollfd){run->group, POLLIN, 0}, 1, milliseconds);
            pthread_mutex_lock(&run->lock);
            run_pump(run);
        }
        deliver(run);
        mark_ready(run);
        run->delivering = false;
        pthread_cond_broadcast(&run->idle);
    }
    if (run->over && !run->waiting.first)
        result = run->failure ? -1 : 1;
    if (result < 0 && error)
        api_error_copy(error, run->failure);
    pthread_mutex_unlock(&run->lock);
    return result;
}

int buckle_run_wait(struct buckle_run *run, struct buckle_error **error)
{
    int went;
    while ((went = buckle_run_dispatch(run, -1, error)) == 0)
        ;
    return went < 0 ? -1 : 0;
}

int buckle_run_fd(const struct buckle_run *run)
{
    return run->group;
}
