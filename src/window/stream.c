/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/stream.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum { BATCH_US = 25000, BATCH_MOST = 256 << 10, UNREAD_MOST = 1 << 20 };

/* ---- sending ---- */

static size_t unread(struct evhttp_request *r)
{
    struct evhttp_connection *c = evhttp_request_get_connection(r);
    struct bufferevent *b = c ? evhttp_connection_get_bufferevent(c) : NULL;
    return b ? evbuffer_get_length(bufferevent_get_output(b)) : 0;
}

static void send_to(struct evhttp_request *r, const char *items, size_t n)
{
    struct evbuffer *b = evbuffer_new();
    if (!b)
        return;
    evbuffer_add_printf(b, "data: [");
    evbuffer_add(b, items, n);
    evbuffer_add_printf(b, "]\n\n");
    evhttp_send_reply_chunk(r, b);
    evbuffer_free(b);
}

static void add_item(struct buf *out, const char *text)
{
    buf_str(out, out->n ? "," : "");
    buf_str(out, text);
}

static void queue(struct stream *t, const char *text)
{
    if (t->n && t->batch.n < BATCH_MOST)
        add_item(&t->batch, text);
}

static void write_total(const struct stream *t, struct buf *out)
{
    buf_fmt(out, "{\"denied\": %llu}", (unsigned long long)window_denied(t->window));
}

static void on_batch(evutil_socket_t fd, short what, void *arg)
{
    struct stream *t = arg;
    OWN(buf) struct buf total = {0};
    (void)fd;
    (void)what;
    if (!t->batch.n && !t->stale)
        return;
    write_total(t, &total);
    add_item(&t->batch, total.s ? total.s : "{}");
    for (size_t i = 0; i < t->n && buf_ok(&t->batch); i++)
        if (unread(t->pages[i]) < UNREAD_MOST)
            send_to(t->pages[i], t->batch.s, t->batch.n);
        else
            send_to(t->pages[i], total.s, total.n);
    buf_free(&t->batch);
    t->stale = false;
}

/* ---- what the window says ---- */

static void write_source(const struct window_source *s, struct buf *out)
{
    OWN(mem) char *runs = s->runs ? json_dumps(s->runs, JSON_COMPACT) : NULL;
    buf_fmt(out, "{\"source\": %d, \"session\": %s, \"denied\": %llu, \"command\": ", (int)s->pid,
            s->session ? "true" : "false", (unsigned long long)s->denied);
    buf_json(out, s->command, strlen(s->command));
    buf_str(out, ", \"cwd\": ");
    buf_json(out, s->cwd, strlen(s->cwd));
    buf_fmt(out, ", \"runs\": %s}", runs ? runs : "[]");
}

/* number: 0 for all of them. */
static void forget_questions(struct stream *t, pid_t pid, uint32_t number)
{
    for (size_t i = 0; i < STREAM_QUESTIONS; i++) {
        struct stream_question *q = &t->questions[i];
        if (!q->number || q->pid != pid || (number && q->number != number))
            continue;
        free(q->text);
        *q = (struct stream_question){0};
    }
}

static void on_source(void *arg, const struct window_source *s, bool gone)
{
    struct stream *t = arg;
    OWN(buf) struct buf text = {0};
    if (gone)
        buf_fmt(&text, "{\"gone\": %d}", (int)s->pid);
    else
        write_source(s, &text);
    if (gone)
        forget_questions(t, s->pid, 0);
    if (buf_ok(&text))
        queue(t, text.s);
    t->stale = true;
}

static void on_event(void *arg, const struct window_source *s, const char *command,
                     const json_t *event)
{
    struct stream *t = arg;
    OWN(buf) struct buf text = {0};
    OWN(mem) char *json = json_dumps(event, JSON_COMPACT);
    buf_fmt(&text, "{\"source\": %d, \"command\": ", (int)s->pid);
    buf_json(&text, command, strnlen(command, 300));
    buf_fmt(&text, ", \"event\": %s}", json ? json : "{}");
    t->stale = true;
    if (!buf_ok(&text))
        return;
    queue(t, text.s);
    char **at = &t->kept[t->nkept++ % STREAM_KEPT];
    free(*at);
    *at = steal_ptr(&text.s);
}

static void keep_question(struct stream *t, pid_t pid, uint32_t number, const char *text)
{
    for (size_t i = 0; i < STREAM_QUESTIONS; i++)
        if (!t->questions[i].number) {
            t->questions[i] = (struct stream_question){pid, number, strdup(text)};
            return;
        }
}

static void on_question(void *arg, const struct window_source *s, uint32_t number,
                        const char *command, const json_t *question)
{
    struct stream *t = arg;
    OWN(buf) struct buf text = {0};
    OWN(mem) char *json = question ? json_dumps(question, JSON_COMPACT) : NULL;
    if (!number)
        return;
    forget_questions(t, s->pid, number);
    if (json) {
        buf_fmt(&text,
                "{\"source\": %d, \"number\": %u, \"question\": %s, \"command\": ", (int)s->pid,
                number, json);
        buf_json(&text, command, strnlen(command, 300));
        buf_chr(&text, '}');
    } else {
        buf_fmt(&text, "{\"source\": %d, \"withdrawn\": %u}", (int)s->pid, number);
    }
    if (!buf_ok(&text))
        return;
    queue(t, text.s);
    if (json)
        keep_question(t, s->pid, number, text.s);
}

/* ---- pages ---- */

static void on_page_closed(struct evhttp_connection *c, void *arg)
{
    struct stream *t = arg;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct evhttp_connection *of = evhttp_request_get_connection(t->pages[i]);
        if (of && of != c)
            t->pages[n++] = t->pages[i];
        else if (!of) /* it was left to us, and this frees it */
            evhttp_send_reply_end(t->pages[i]);
    }
    t->n = n;
}

/* All that a new page needs to know. */
static void send_state(struct stream *t, struct evhttp_request *r)
{
    OWN(buf) struct buf items = {0};
    for (size_t i = 0; i < t->window->n; i++) {
        OWN(buf) struct buf one = {0};
        const struct window_source *s = t->window->sources[i];
        if (!s->known || s->member)
            continue;
        write_source(s, &one);
        if (buf_ok(&one))
            add_item(&items, one.s);
    }
    uint64_t first = t->nkept > STREAM_KEPT ? t->nkept - STREAM_KEPT : 0;
    for (uint64_t i = first; i < t->nkept; i++)
        add_item(&items, t->kept[i % STREAM_KEPT]);
    for (size_t i = 0; i < STREAM_QUESTIONS; i++)
        if (t->questions[i].number && t->questions[i].text)
            add_item(&items, t->questions[i].text);
    OWN(buf) struct buf total = {0};
    write_total(t, &total);
    add_item(&items, total.s ? total.s : "{}");
    if (buf_ok(&items))
        send_to(r, items.s, items.n);
}

void stream_add(struct stream *t, struct evhttp_request *r)
{
    if (t->n == STREAM_PAGES) {
        evhttp_send_error(r, HTTP_SERVUNAVAIL, "too many pages are open");
        return;
    }
    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", "text/event-stream");
    evhttp_send_reply_start(r, HTTP_OK, NULL);
    evhttp_connection_set_closecb(evhttp_request_get_connection(r), on_page_closed, t);
    t->pages[t->n++] = r;
    send_state(t, r);
}

int stream_init(struct stream *t, struct event_base *base, struct window *w, struct bk_err *err)
{
    const struct timeval every = {0, BATCH_US};
    const struct window_calls calls = {on_source, on_event, on_question, t};
    t->window = w;
    struct event *timer = event_new(base, -1, EV_PERSIST, on_batch, t);
    if (!timer || event_add(timer, &every) < 0)
        return err_nomem(err);
    return window_open(w, &calls, true, err);
}
