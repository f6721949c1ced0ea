/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Asks each control socket for its totals, its newest events and the questions that wait. What ends
 * meanwhile is left out, and what does not answer in time is named. Nothing here makes a run wait
 * or answers it.
 */

#include "cli/agent/status-active.h"

#include <stdlib.h>
#include <string.h>

#include "agent/control-server.h"
#include "base/clock.h"
#include "base/own.h"
#include "cli/cmd.h"

enum {
    SOCKETS_MOST = 64,
    LOOKED_AT = 20,
    SHOWN = 3,
    LINE_SHOWN = 200,
    ONE_MS = 200,
    ALL_MS = 2000
};

static uint64_t deadline; /* for all of them: many may be stopped */

static json_t *ask(int control, json_t *message)
{
    struct bk_err err;
    OWN(json) json_t *m = message;
    return m && now_ms() < deadline ? control_server_ask(control, m, ONE_MS, &err) : NULL;
}

/* One that does not answer. */
static json_t *silent(const char *kind, pid_t pid)
{
    return json_pack("{s:s, s:i, s:s, s:i, s:[], s:[]}", "kind", kind, "pid", (int)pid, "command",
                     "(does not answer)", "denied", 0, "last", "questions");
}

static json_t *ask_log(int control, json_int_t after)
{
    return ask(control, json_pack("{s:b, s:I}", "log", 1, "after", after));
}

/* The denials among the newest events. */
static json_t *newest_denials(int control, json_int_t total)
{
    json_int_t after = total > LOOKED_AT ? total - LOOKED_AT : 0;
    OWN(json) json_t *log = ask_log(control, after);
    const json_t *events = json_object_get(log, "events");
    json_t *list = json_array();
    for (size_t i = json_array_size(events); i-- > 0 && json_array_size(list) < SHOWN;) {
        json_t *e = json_array_get(events, i);
        const char *verdict = json_text(e, "verdict");
        if (verdict && strcmp(verdict, "deny") == 0)
            json_array_insert(list, 0, e);
    }
    return list;
}

static char *command_text(const json_t *words)
{
    OWN(buf) struct buf line = {0};
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        buf_fmt(&line, "%s%s", i ? " " : "", word ? word : "");
    }
    return buf_ok(&line) && line.s ? steal_ptr(&line.s) : strdup("");
}

static json_t *look_at(const char *kind, pid_t pid)
{
    /* a number that no event has: totals, and no events */
    const json_int_t never = (json_int_t)1 << 62;
    struct bk_err err;
    if (now_ms() >= deadline)
        return silent(kind, pid);
    OWN(fd) int control = control_socket_connect(kind, pid, &err);
    OWN(json) json_t *about = control >= 0 ? ask(control, json_pack("{s:b}", "about", 1)) : NULL;
    if (control >= 0 && !about)
        return silent(kind, pid);
    if (!about || json_is_true(json_object_get(about, "member")))
        return NULL;
    OWN(json) json_t *waiting = ask(control, json_pack("{s:b}", "questions", 1));
    OWN(json) json_t *totals = ask_log(control, never);
    json_int_t total = json_integer_value(json_object_get(totals, "total"));
    json_t *last = newest_denials(control, total);
    json_t *questions = json_object_get(waiting, "questions");
    OWN(mem) char *command = command_text(json_object_get(about, "command"));
    return json_pack("{s:s, s:i, s:O*, s:s*, s:I, s:o, s:o}", "kind", kind, "pid", (int)pid, "cwd",
                     json_object_get(about, "cwd"), "command", command, "denied",
                     json_integer_value(json_object_get(totals, "denied")), "last", last,
                     "questions", questions ? json_incref(questions) : json_array());
}

static void add_kind(const char *kind, json_t *list)
{
    pid_t pids[SOCKETS_MOST];
    size_t n = control_socket_list(kind, pids, SOCKETS_MOST);
    for (size_t i = 0; i < n && i < SOCKETS_MOST; i++) {
        json_t *one = look_at(kind, pids[i]);
        if (one)
            json_array_append_new(list, one);
    }
}

json_t *status_active(void)
{
    json_t *list = json_array();
    deadline = now_ms() + ALL_MS;
    add_kind("session", list);
    add_kind("run", list);
    return list;
}

/* ---- as text ---- */

/* One line of it, with an end that says so. */
static void add_line(const char *text, struct buf *out)
{
    size_t n = strlen(text), shown = n;
    if (n > LINE_SHOWN)
        for (shown = LINE_SHOWN; shown && ((unsigned char)text[shown] & 0xc0) == 0x80;)
            shown--;
    buf_safe(out, text, shown);
    buf_str(out, shown < n ? "…\n" : "\n");
}

static void add_source(const json_t *one, struct buf *out)
{
    const char *command = json_text(one, "command");
    json_int_t denied = json_integer_value(json_object_get(one, "denied"));
    buf_fmt(out, "  %s %lld, %lld denied: ", json_text(one, "kind"),
            (long long)json_integer_value(json_object_get(one, "pid")), (long long)denied);
    add_line(command ? command : "", out);
}

/* "denied          LINE" for each. */
static void add_denials(const json_t *active, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(active); i++) {
        const json_t *last = json_object_get(json_array_get(active, i), "last");
        for (size_t k = 0; k < json_array_size(last); k++) {
            const char *line = json_text(json_array_get(last, k), "line");
            buf_str(out, "denied          ");
            add_line(line ? line : "", out);
        }
    }
}

static void add_questions(const json_t *active, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(active); i++) {
        const json_t *list = json_object_get(json_array_get(active, i), "questions");
        for (size_t k = 0; k < json_array_size(list); k++, n++) {
            const json_t *q = json_object_get(json_array_get(list, k), "question");
            const char *program = json_text(q, "program"), *where = json_text(q, "where");
            const char *what = where ? where : json_text(q, "path");
            OWN(buf) struct buf line = {0};
            buf_fmt(&line, "%s asks for %s", program && *program ? program : "a program",
                    what ? what : "?");
            buf_str(out, "waiting         ");
            add_line(buf_ok(&line) && line.s ? line.s : "", out);
        }
    }
    if (n)
        buf_str(out, "                answer on its terminal, in `buckle top` or in `buckle ui`\n");
}

void status_active_text(const json_t *active, struct buf *out)
{
    size_t runs = 0, sessions = 0;
    json_int_t denied = 0;
    for (size_t i = 0; i < json_array_size(active); i++) {
        const json_t *one = json_array_get(active, i);
        const char *kind = json_text(one, "kind");
        bool session = kind && strcmp(kind, "session") == 0;
        runs += !session;
        sessions += session;
        denied += json_integer_value(json_object_get(one, "denied"));
    }
    buf_fmt(out, "active          %zu run%s, %zu session%s", runs, plural(runs), sessions,
            plural(sessions));
    buf_fmt(out, runs + sessions ? ", %lld denied\n" : "\n", (long long)denied);
    for (size_t i = 0; i < json_array_size(active); i++)
        add_source(json_array_get(active, i), out);
    add_denials(active, out);
    add_questions(active, out);
}
