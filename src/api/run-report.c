/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A program's requests to a run, and what it reads of events and questions. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "api/run-int.h"
#include "base/own.h"

/* ---- saying ---- */

int run_send(struct buckle_run *run, struct buf *message)
{
    if (!buf_ok(message))
        return -1;
    while (message->n && wire_send(run->helper.sock, message) == 0 && message->n)
        poll(&(struct pollfd){run->helper.sock, POLLOUT, 0}, 1, 100);
    return message->n ? -1 : 0;
}

/* Sends a signal, like a user at a terminal. The lock is held, and the process is not reaped yet.
 */
static int send_signal(const struct buckle_run *run, enum wire_kind kind, int number)
{
    if (kind == WIRE_CANCEL)
        number = run->cancel_sent ? SIGKILL : SIGTERM;
    else if (kind != WIRE_SIGNAL)
        return -1;
    return kill(run->helper.pid, number);
}

static int send_message(struct buckle_run *run, enum wire_kind kind, size_t n,
                        const uint64_t *numbers)
{
    OWN(buf) struct buf message = {0};
    size_t at = wire_begin(&message, kind);
    for (size_t i = 0; i < n; i++)
        wire_number(&message, numbers[i]);
    wire_end(&message, at);
    pthread_mutex_lock(&run->lock);
    int sent = -1;
    if (!run->over && run->by_signal)
        sent = send_signal(run, kind, n ? (int)numbers[0] : 0);
    else if (!run->over)
        sent = run_send(run, &message);
    run->cancel_sent |= kind == WIRE_CANCEL;
    pthread_mutex_unlock(&run->lock);
    return sent;
}

int buckle_run_cancel(struct buckle_run *run)
{
    return send_message(run, WIRE_CANCEL, 0, NULL);
}

int buckle_run_signal(struct buckle_run *run, int signal)
{
    return send_message(run, WIRE_SIGNAL, 1, (uint64_t[]){(uint64_t)signal});
}

int buckle_run_answer(struct buckle_run *run, uint32_t id, enum buckle_answer answer)
{
    return send_message(run, WIRE_ANSWER, 2, (uint64_t[]){id, (uint64_t)answer});
}

/* ---- asking ---- */

/* Removes the reply of that number from the list. */
static struct note *find_reply(struct notes *list, uint64_t number)
{
    for (struct note **at = &list->first; *at; at = &(*at)->next) {
        struct note *one = *at;
        struct wire_message m;
        wire_first(one->bytes, one->n, &m);
        if (wire_take_number(&m) != number)
            continue;
        *at = one->next;
        if (!one->next)
            list->last = at;
        return one;
    }
    return NULL;
}

/* Another thread may be reading, and leaves our reply in the list, so check often. */
static struct note *await_reply(struct buckle_run *run, uint64_t number)
{
    enum { LOOK_MS = 5 };
    struct note *one;
    for (;;) {
        run_pump(run);
        one = find_reply(&run->replies, number);
        if (one || run->over)
            return one;
        struct pollfd fds[] = {{run->helper.sock, POLLIN, 0}, {run->helper.watch, POLLIN, 0}};
        pthread_mutex_unlock(&run->lock);
        poll(fds, 2, LOOK_MS);
        pthread_mutex_lock(&run->lock);
    }
}

static int read_reply(const struct note *one, char **waits, struct bk_err *err, struct buf *report)
{
    struct wire_message m;
    wire_first(one->bytes, one->n, &m);
    wire_take_number(&m);
    if (!wire_take_number(&m)) {
        wire_take_error(&m, err, report);
        return -1;
    }
    const char *text = wire_take_text(&m, NULL);
    if (waits && text[0])
        *waits = strdup(text);
    return 0;
}

static int request(struct buckle_run *run, enum wire_kind kind, const struct api_pair *what,
                   char **waits, struct buckle_error **error)
{
    OWN(buf) struct buf message = {0};
    OWN(buf) struct buf report = {0};
    struct bk_err err;
    int result = -1;
    if (waits)
        *waits = NULL;
    pthread_mutex_lock(&run->lock);
    uint64_t number = ++run->asked;
    size_t at = wire_begin(&message, kind);
    wire_number(&message, number);
    wire_text(&message, what->key, what->n);
    if (what->value)
        wire_text(&message, what->value, strlen(what->value));
    wire_end(&message, at);
    err_set(&err, BK_E_INPUT, "the command has ended");
    OWN(mem) struct note *one = NULL;
    if (message.n > WIRE_MOST)
        err_set(&err, BK_E_LIMIT, "too large");
    else if (run->by_signal)
        err_set(&err, BK_E_INPUT, "macOS cannot change the policy of a running command");
    else if (!run->over && run_send(run, &message) == 0)
        one = await_reply(run, number);
    pthread_mutex_unlock(&run->lock);
    if (one)
        result = read_reply(one, waits, &err, &report);
    if (result < 0)
        api_error_made(error, &err, &report);
    return result;
}

int buckle_run_update_settings(struct buckle_run *run, const char *json, size_t len, char **waits,
                               struct buckle_error **error)
{
    return request(run, WIRE_SETTINGS, &(struct api_pair){json, NULL, len}, waits, error);
}

int buckle_run_update_text(struct buckle_run *run, const char *text, size_t len, char **waits,
                           struct buckle_error **error)
{
    return request(run, WIRE_TEXT, &(struct api_pair){text, NULL, len}, waits, error);
}

int buckle_run_grant(struct buckle_run *run, const char *rule, const char *value, char **waits,
                     struct buckle_error **error)
{
    struct api_pair what = {rule, value, strlen(rule)};
    return request(run, WIRE_GRANT, &what, waits, error);
}

/* ---- how it ended ---- */

/* Reads the wait status and the flags; false while it runs. */
static bool read_end(const struct buckle_run *run, int *status, bool *timed_out, bool *cancelled)
{
    pthread_mutex_t *lock = &((struct buckle_run *)run)->lock;
    pthread_mutex_lock(lock);
    bool ended = run->over && run->ended;
    *status = run->status;
    *timed_out = run->over && run->timed_out;
    *cancelled = run->over && run->cancelled;
    pthread_mutex_unlock(lock);
    return ended;
}

int buckle_run_status(const struct buckle_run *run)
{
    int status;
    bool timed_out, cancelled;
    if (!read_end(run, &status, &timed_out, &cancelled))
        return -1;
    if (timed_out)
        return 124;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int buckle_run_signal_number(const struct buckle_run *run)
{
    int status;
    bool timed_out, cancelled;
    bool ended = read_end(run, &status, &timed_out, &cancelled);
    return ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int buckle_run_timed_out(const struct buckle_run *run)
{
    int status;
    bool timed_out, cancelled;
    read_end(run, &status, &timed_out, &cancelled);
    return timed_out;
}

int buckle_run_cancelled(const struct buckle_run *run)
{
    int status;
    bool timed_out, cancelled;
    read_end(run, &status, &timed_out, &cancelled);
    return cancelled;
}

/* ---- events and questions ---- */

int buckle_event_denied(const struct buckle_event *event)
{
    return event->denied;
}

uint64_t buckle_event_time(const struct buckle_event *event)
{
    return event->time_ns;
}

int buckle_event_pid(const struct buckle_event *event)
{
    return event->pid;
}

const char *buckle_event_program(const struct buckle_event *event)
{
    return event->program;
}

const char *buckle_event_operation(const struct buckle_event *event)
{
    return event->operation;
}

const char *buckle_event_target(const struct buckle_event *event)
{
    return event->target;
}

const char *buckle_event_line(const struct buckle_event *event)
{
    return event->line;
}

const char *buckle_event_json(const struct buckle_event *event)
{
    return event->json;
}

uint64_t buckle_event_lost(const struct buckle_event *event)
{
    return event->lost;
}

uint32_t buckle_question_id(const struct buckle_question *question)
{
    return question->q.id;
}

int buckle_question_withdrawn(const struct buckle_question *question)
{
    return question->q.withdrawn;
}

const char *buckle_question_host(const struct buckle_question *question)
{
    return question->q.host;
}

unsigned buckle_question_port(const struct buckle_question *question)
{
    return question->q.port;
}

int buckle_question_udp(const struct buckle_question *question)
{
    return question->q.udp;
}

const char *buckle_question_program(const struct buckle_question *question)
{
    return question->q.program;
}

int buckle_question_pid(const struct buckle_question *question)
{
    return question->q.pid;
}
