/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One connection to each source. It sends what happens, and once a second it is asked for its
 * totals, because events that we did not read in time are lost, and for the runs of a session. New
 * sources are found in the list of control sockets, four times a second.
 */

#include "window/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/control-socket.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"
#include "system/descriptors.h"
#include "system/fd-group.h"

enum { LOOK_MS = 250, TOTALS_MS = 1000 };

static uint64_t number(const json_t *m, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(m, key));
    return n > 0 ? (uint64_t)n : 0;
}

static bool send_text(const struct window_source *s, const char *text)
{
    return fd_packet_send(s->sock, text, strlen(text), -1, true) == (ssize_t)strlen(text);
}

/* ---- sources ---- */

static void free_source(struct window_source *s)
{
    fd_watch_drop(&s->window->fds, s->sock);
    close(s->sock);
    json_decref(s->runs);
    free(s->command);
    free(s->cwd);
    free(s);
}

static void source_changed(struct window_source *s, bool gone)
{
    const struct window_calls *c = &s->window->calls;
    s->told = s->denied;
    if (c->source && s->known && !s->member)
        c->source(c->arg, s, gone);
}

static void drop_source(struct window_source *s)
{
    struct window *w = s->window;
    source_changed(s, true);
    if (!s->member)
        w->ended_denied += s->denied;
    for (size_t i = 0; i < w->n; i++)
        if (w->sources[i] == s)
            w->sources[i] = w->sources[--w->n];
    free_source(s);
}

const struct window_source *window_find(const struct window *w, pid_t pid)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->sources[i]->pid == pid)
            return w->sources[i];
    return NULL;
}

/* ---- what they say ---- */

static void set_text(char **at, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (!copy)
        return;
    free(*at);
    *at = copy;
}

static void read_about(struct window_source *s, const json_t *m)
{
    const json_t *words = json_object_get(m, "command");
    OWN(buf) struct buf line = {0};
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        buf_fmt(&line, "%s%s", i ? " " : "", word ? word : "");
    }
    s->member = json_is_true(json_object_get(m, "member"));
    s->known = true;
    set_text(&s->command, buf_ok(&line) && line.s ? line.s : "");
    set_text(&s->cwd, json_text(m, "cwd"));
    if (!s->member) {
        (void)send_text(s, "{\"events\": true, \"after\": 0}");
        if (s->window->asks) /* the second for what a session was asked before */
            (void)(send_text(s, "{\"watch\": true}") && send_text(s, "{\"questions\": true}"));
    }
    source_changed(s, false);
}

static void read_event(struct window_source *s, const json_t *m, const json_t *event)
{
    const struct window_calls *c = &s->window->calls;
    const char *command = json_text(m, "command");
    uint64_t at = number(m, "number"), denied = number(m, "denied");
    s->total = at > s->total ? at : s->total;
    s->denied = denied > s->denied ? denied : s->denied;
    if (at <= s->last)
        return; /* again */
    s->last = at;
    if (c->event)
        c->event(c->arg, s, command ? command : s->command, event);
}

static void read_totals(struct window_source *s, const json_t *m)
{
    s->total = number(m, "total");
    s->denied = number(m, "denied");
    if (s->denied != s->told)
        source_changed(s, false);
}

static void read_runs(struct window_source *s, json_t *runs)
{
    if (s->runs && json_equal(s->runs, runs))
        return;
    json_decref(s->runs);
    s->runs = json_incref(runs);
    source_changed(s, false);
}

static void read_question(const struct window_source *s, const json_t *m)
{
    const struct window_calls *c = &s->window->calls;
    const char *command = json_text(m, "command");
    const json_t *question = json_object_get(m, "question");
    if (c->question && question)
        c->question(c->arg, s, (uint32_t)number(m, "number"), command ? command : s->command,
                    question);
}

/* Each is a message like those that come later. */
static void read_questions(const struct window_source *s, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        read_question(s, json_array_get(list, i));
}

static void read_message(struct window_source *s, const json_t *m)
{
    const struct window_calls *c = &s->window->calls;
    const json_t *event = json_object_get(m, "event");
    json_t *runs = json_object_get(m, "runs");
    if (event)
        read_event(s, m, event);
    else if (json_object_get(m, "question"))
        read_question(s, m);
    else if (json_object_get(m, "questions"))
        read_questions(s, json_object_get(m, "questions"));
    else if (json_object_get(m, "withdrawn") && c->question)
        c->question(c->arg, s, (uint32_t)number(m, "withdrawn"), "", NULL);
    else if (json_object_get(m, "cwd"))
        read_about(s, m);
    else if (json_object_get(m, "denied"))
        read_totals(s, m);
    else if (runs)
        read_runs(s, runs);
}

static void on_source(void *arg, int sock)
{
    enum { AT_ONCE = 64 }; /* others have their turn */
    static char text[CONTROL_MESSAGE];
    struct window_source *s = arg;
    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t n = fd_packet_receive(sock, text, sizeof(text), NULL, true);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            drop_source(s);
            return;
        }
        OWN(json)
        json_t *m = n <= (ssize_t)sizeof(text) ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
        if (m)
            read_message(s, m);
    }
}

/* ---- looking for them ---- */

static void add_source(struct window *w, const char *kind, pid_t pid)
{
    struct bk_err err;
    if (w->n == WINDOW_SOURCES || window_find(w, pid))
        return;
    OWN(fd) int sock = control_socket_connect(kind, pid, &err);
    struct window_source *s = sock >= 0 ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return;
    *s = (struct window_source){.session = kind[0] == 's',
                                .pid = pid,
                                .sock = sock,
                                .command = strdup(""),
                                .cwd = strdup(""),
                                .window = w};
    if (!s->command || !s->cwd || fd_watch_add(&w->fds, sock, on_source, s, &err) < 0) {
        free(s->command);
        free(s->cwd);
        free(s);
        return;
    }
    (void)steal_fd(&sock);
    w->sources[w->n++] = s;
    (void)send_text(s, "{\"about\": true}");
}

static void look_for(struct window *w, const char *kind)
{
    pid_t pids[WINDOW_SOURCES];
    size_t n = control_socket_list(kind, pids, WINDOW_SOURCES);
    for (size_t i = 0; i < n && i < WINDOW_SOURCES; i++)
        if (pids[i] > 0)
            add_source(w, kind, pids[i]);
}

static void ask_totals(const struct window *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct window_source *s = w->sources[i];
        if (!s->known || s->member)
            continue;
        (void)send_text(s, "{\"events\": true}");
        if (s->session)
            (void)send_text(s, "{\"list\": true}");
    }
}

static void on_timer(void *arg, int timer)
{
    struct window *w = arg;
    uint64_t now = now_ms();
    fd_timer_clear(timer);
    look_for(w, "session");
    look_for(w, "run");
    if (now - w->looked_ms >= TOTALS_MS) {
        w->looked_ms = now;
        ask_totals(w);
    }
    (void)fd_timer_set(timer, LOOK_MS);
}

/* ---- open and close ---- */

int window_open(struct window *w, const struct window_calls *calls, bool asks, struct bk_err *err)
{
    *w = (struct window){.calls = *calls, .asks = asks, .timer = fd_timer_open()};
    fd_watch_init(&w->fds);
    if (w->timer < 0 || fd_timer_set(w->timer, 1) < 0)
        return err_sys(err, "cannot open a timer");
    return fd_watch_add(&w->fds, w->timer, on_timer, w, err);
}

void window_close(struct window *w)
{
    w->calls = (struct window_calls){0};
    while (w->n)
        drop_source(w->sources[0]);
    if (w->timer >= 0)
        close(steal_fd(&w->timer));
    fd_watch_end(&w->fds);
}

uint64_t window_denied(const struct window *w)
{
    uint64_t sum = w->ended_denied;
    for (size_t i = 0; i < w->n; i++)
        if (!w->sources[i]->member)
            sum += w->sources[i]->denied;
    return sum;
}

bool window_answer(const struct window *w, pid_t pid, uint32_t number, const char *consent)
{
    const struct window_source *s = window_find(w, pid);
    OWN(json) json_t *m = json_pack("{s:I, s:s}", "answer", (json_int_t)number, "consent", consent);
    OWN(mem) char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
    return s && text && send_text(s, text);
}
