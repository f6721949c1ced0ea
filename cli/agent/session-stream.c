/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Lines are written whole and at once, so that a reader who waits for {"flushed": N} has seen every
 * denial of the runs that have ended: their messages are in the session's sockets by then.
 */

#include "cli/agent/session-stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "command/tmpdir.h"

enum { LINE_MAX_BYTES = 1 << 20 };

static void write_line(struct session_stream *s, struct buf *line)
{
    buf_chr(line, '\n');
    s->ended |= !buf_ok(line) || fd_write_all(STDOUT_FILENO, line->s, line->n) < 0;
}

static void on_denial(void *arg, const char *command, const char *json)
{
    OWN(buf) struct buf line = {0};
    buf_fmt(&line, "{\"denied\": %s, \"command\": ", json);
    buf_json(&line, command, strlen(command));
    buf_chr(&line, '}');
    write_line(arg, &line);
}

static bool on_question(void *arg, uint64_t run, const json_t *question)
{
    OWN(buf) struct buf line = {0};
    OWN(mem) char *text = json_dumps(question, JSON_COMPACT);
    if (!text)
        return false;
    buf_fmt(&line, "{\"question\": ");
    buf_json_text(&line, text, strlen(text));
    buf_fmt(&line, ", \"run\": %llu}", (unsigned long long)run);
    write_line(arg, &line);
    return true;
}

static void do_request(struct session_stream *s, const json_t *m)
{
    OWN(buf) struct buf line = {0};
    OWN(buf) struct buf answer = {0};
    session_request(s->session, json_object_get(m, "request"), &answer);
    buf_fmt(&line, "{\"of\": %lld, \"answer\": %s}",
            (long long)json_integer_value(json_object_get(m, "of")), answer.s ? answer.s : "{}");
    write_line(s, &line);
}

static void do_flush(struct session_stream *s, json_int_t number)
{
    OWN(buf) struct buf line = {0};
    fd_watch_all(&s->session->fds);
    buf_fmt(&line, "{\"flushed\": %lld}", (long long)number);
    write_line(s, &line);
}

static void on_line(struct session_stream *s)
{
    OWN(json) json_t *m = json_loadb(s->line.s, s->line.n, JSON_REJECT_DUPLICATES, NULL);
    const char *word = json_text(m, "consent");
    if (word)
        session_answer(s->session, (uint64_t)json_integer_value(json_object_get(m, "run")),
                       (uint32_t)json_integer_value(json_object_get(m, "id")),
                       strcmp(word, "once") == 0  ? "once"
                       : strcmp(word, "run") == 0 ? "run"
                                                  : "deny");
    else if (json_object_get(m, "flush"))
        do_flush(s, json_integer_value(json_object_get(m, "flush")));
    else if (json_object_get(m, "request"))
        do_request(s, m);
}

/* Names that begin with .buckle are protected in every folder (run/own-rules.h). */
static void make_folder(struct session_stream *s)
{
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *at = places[i];
        if (!at || at[0] != '/' ||
            snprintf(s->folder, sizeof(s->folder), "%s/.buckle-XXXXXX", at) >= PATH_MAX)
            continue;
        if (mkdtemp(s->folder))
            return;
    }
    s->folder[0] = '\0'; /* inside another sandbox */
}

void session_stream_begin(struct session_stream *s, struct session *k)
{
    OWN(buf) struct buf line = {0};
    *s = (struct session_stream){.session = k};
    make_folder(s);
    k->on_denial = on_denial;
    k->on_question = on_question;
    k->arg = s;
    buf_fmt(&line, "{\"session\": %d, \"folder\": ", (int)getpid());
    buf_json(&line, s->folder, strlen(s->folder));
    buf_chr(&line, '}');
    write_line(s, &line);
}

void session_stream_read(struct session_stream *s)
{
    char bytes[16384];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->ended |= n <= 0;
    for (const char *at = bytes, *end = bytes + n; n > 0 && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        buf_add(&s->line, at, len);
        if (newline && s->line.n)
            on_line(s);
        if (newline)
            s->line.n = 0;
        at += len + (newline != NULL);
    }
    s->ended |= !buf_ok(&s->line) || s->line.n > LINE_MAX_BYTES;
}

void session_stream_end(struct session_stream *s)
{
    buf_free(&s->line);
    if (s->folder[0])
        tmpdir_remove_tree(s->folder);
}
