/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The link to the program that decides about requests. Questions have increasing numbers, and
 * answers may come in any order. A connection waits with its request unread, so that its memory
 * stays bounded. An answer that breaks the protocol ends the link: whatever waits is refused. A
 * socket is connected again for the next request; descriptors that were handed in are not, and the
 * gate ends with them.
 */

#include "net/decider.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/own.h"
#include "net/decide-body.h"
#include "net/handling.h"
#include "net/plain-http.h"
#include "net/proxy.h"
#include "system/descriptors.h"

enum {
    WAITING_MAX = 4096,
    OUT_MAX = 128 << 20, /* more than all bodies that may wait, in base64 */
    HELD_MAX = 2 * DECIDER_BODY,
    READ_BYTES = 64 << 10,
    BODY_MS = 30000, /* for a body to arrive */
};

struct decider {
    struct watch in, out; /* fd -1: there is no link */
    struct gate *gate;
    struct queue from, to;
    uint64_t last_id;
    size_t waiting;
    size_t held; /* bytes of bodies that it wants to see */
};

static const char no_decider[] = "request decider unavailable";
static const char late_body[] = "the request's body did not come in time for the decider";

/* ---- ending ---- */

/* Not at once: whoever has sent a question may be in the middle of its own request. */
static void resume(struct conn *c)
{
    c->deciding = 0;
    decide_body_end(c);
    conn_pump_later(c);
}

static void refuse_with(struct conn *c, uint16_t status, const char *reason)
{
    c->decision = calloc(1, sizeof(*c->decision));
    if (!c->decision)
        return;
    c->decision->status = status;
    snprintf(c->decision->reason, sizeof(c->decision->reason), "%s", reason);
}

static void lose(struct decider *d)
{
    struct gate *g = d->gate;
    loop_remove(&g->loop, &d->in);
    loop_remove(&g->loop, &d->out);
    queue_free(&d->from);
    queue_free(&d->to);
    d->waiting = 0;
    for (struct conn *c = g->conns, *next; c; c = next) {
        next = c->next;
        if (!c->deciding)
            continue;
        refuse_with(c, 503, no_decider);
        resume(c);
    }
    if (g->o->handling->framed)
        g->over = true;
}

/* ---- answers ---- */

static struct conn *find(struct gate *g, uint64_t id)
{
    struct conn *c = g->conns;
    while (c && c->deciding != id)
        c = c->next;
    return c;
}

static uint64_t answer_until(const struct conn *c)
{
    uint32_t ms = c->gate->o->handling->decide_ms;
    return c->gate->loop.now_ms + (ms ? ms : DECIDER_MS);
}

static void begin_body(struct conn *c, size_t most)
{
    bool h2 = c->state == CONN_H2;
    const char *why =
        h2 ? "the decider wants to see the body, which needs HTTP/1.1" : decide_body_begin(c, most);
    c->decide_until_ms = c->gate->loop.now_ms + BODY_MS;
    if (why) {
        decider_leave(c);
        refuse_with(c, 503, why);
        if (c->decision)
            c->decision->wants_http1 = h2;
    } else {
        decide_body_more(c);
    }
    conn_pump_later(c);
}

/* Answers that decide nothing yet. Returns false if it breaks the protocol. */
static bool go_on(struct conn *c, size_t most, bool waits)
{
    if (waits && !decide_body_waits(c))
        c->decide_until_ms = answer_until(c);
    if (waits)
        return true;
    if (!most || c->asked_body)
        return false;
    c->asked_body = true;
    begin_body(c, most);
    return true;
}

/* Returns false if it breaks the protocol. */
static bool take_answer(struct decider *d, const char *text, size_t n)
{
    struct gate *g = d->gate;
    bool framed = g->o->handling->framed;
    struct decision seen;
    uint64_t id;
    const char *wrong = decision_read(text, n, framed, NULL, &id, &seen);
    struct conn *c = wrong ? NULL : find(g, id);
    if (wrong || id > d->last_id)
        return false;
    if (!c) /* too late: the client has left, or has its answer */
        return true;
    struct decision *made = calloc(1, sizeof(*made));
    if (!made || decision_read(text, n, framed, &c->host, &id, made)) {
        if (made)
            decision_free(made);
        free(made);
        return false;
    }
    if (made->wants || made->waits || (decide_body_waits(c) && made->allow)) {
        uint32_t most = made->wants;
        bool waits = made->waits;
        decision_free(made);
        free(made);
        return go_on(c, most, waits) && d->in.fd >= 0;
    }
    c->decision = made;
    d->waiting--;
    resume(c);
    return true;
}

/* The length of the first message with its frame, or 0: incomplete; -1: too long. *from: where its
 * text begins, *n: its length. */
static ssize_t next_message(const struct decider *d, size_t *from, size_t *n)
{
    const char *data = queue_data(&d->from);
    size_t have = queue_size(&d->from);
    if (!d->gate->o->handling->framed) {
        const char *end = memchr(data, '\n', have);
        *from = 0;
        *n = end ? (size_t)(end - data) : 0;
        return end ? end + 1 - data : have > DECIDER_FRAME ? -1 : 0;
    }
    if (have < 4)
        return 0;
    const uint8_t *b = (const uint8_t *)data;
    *n = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
    *from = 4;
    if (*n > DECIDER_FRAME)
        return -1;
    return have >= *n + 4 ? (ssize_t)*n + 4 : 0;
}

static bool read_messages(struct decider *d)
{
    size_t from, n;
    ssize_t size = 0;
    while (d->in.fd >= 0 && (size = next_message(d, &from, &n)) > 0) {
        OWN(buf) struct buf text = {0}; /* an answer may end the link, and its queue */
        buf_add(&text, queue_data(&d->from) + from, n);
        queue_take(&d->from, (size_t)size);
        if (!buf_ok(&text) || !take_answer(d, text.s ? text.s : "", text.n))
            return false;
    }
    return size >= 0;
}

static void on_in(struct watch *w, unsigned what)
{
    struct decider *d = (struct decider *)((char *)w - offsetof(struct decider, in));
    static char bytes[READ_BYTES];
    (void)what;
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK)
        n = read(w->fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || queue_add(&d->from, bytes, (size_t)n) < 0 || !read_messages(d))
        lose(d);
}

/* ---- questions ---- */

static void want_out(struct decider *d, bool wants)
{
    if (d->out.fd >= 0)
        loop_change(&d->gate->loop, &d->out, wants ? LOOP_OUT : 0);
}

/* Sends what fits; false if the link is broken. */
static bool flush(struct decider *d)
{
    while (queue_size(&d->to)) {
        ssize_t n =
            send(d->out.fd, queue_data(&d->to), queue_size(&d->to), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == ENOTSOCK)
            n = write(d->out.fd, queue_data(&d->to), queue_size(&d->to));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            return false;
        queue_take(&d->to, (size_t)n);
    }
    want_out(d, queue_size(&d->to) > 0);
    return queue_size(&d->to) <= OUT_MAX;
}

static void on_out(struct watch *w, unsigned what)
{
    struct decider *d = (struct decider *)((char *)w - offsetof(struct decider, out));
    (void)what;
    if (!flush(d))
        lose(d);
}

static void send_text(struct decider *d, const struct buf *text)
{
    bool framed = d->gate->o->handling->framed;
    uint32_t n = (uint32_t)text->n;
    uint8_t length[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    if (!buf_ok(text) || (framed && queue_add(&d->to, length, 4) < 0) ||
        queue_add(&d->to, text->s, text->n) < 0 || (!framed && queue_add(&d->to, "\n", 1) < 0) ||
        !flush(d))
        lose(d);
}

/* in and out may lead to one socket, but are two descriptors, so that each has its watch. */
static int watch_both(struct decider *d, int in, int out)
{
    struct loop *l = &d->gate->loop;
    d->in = (struct watch){in, on_in};
    d->out = (struct watch){out, on_out};
    if (out < 0 || loop_add(l, &d->in, true) < 0) {
        close(in);
        if (out >= 0)
            close(out);
        d->in.fd = d->out.fd = -1;
        return -1;
    }
    if (loop_add(l, &d->out, true) < 0) {
        loop_remove(l, &d->in);
        close(out);
        d->out.fd = -1;
        return -1;
    }
    loop_change(l, &d->in, LOOP_IN);
    want_out(d, false);
    return 0;
}

static bool connect_again(struct decider *d)
{
    const struct handling *h = d->gate->o->handling;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (d->in.fd >= 0)
        return true;
    if (h->framed || !h->decider || strlen(h->decider) >= sizeof(to.sun_path))
        return false;
    strcpy(to.sun_path, h->decider);
    OWN(fd) int fd = fd_socket(AF_UNIX, SOCK_STREAM, FD_NONBLOCK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return false;
    int twice = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return watch_both(d, steal_fd(&fd), twice) == 0;
}

static void write_fields(const struct http_head *h, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < h->nfields; i++) {
        struct slice name = h->fields[i].name;
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = h->fields[k].name.n == name.n &&
                    strncasecmp(h->fields[k].name.s, name.s, name.n) == 0;
        if (again || (name.n == 4 && strncasecmp(name.s, "host", 4) == 0) ||
            (name.n == 19 && strncasecmp(name.s, "proxy-authorization", 19) == 0))
            continue;
        char lower[256];
        size_t n = name.n < sizeof(lower) ? name.n : sizeof(lower);
        for (size_t k = 0; k < n; k++)
            lower[k] = (char)(name.s[k] >= 'A' && name.s[k] <= 'Z' ? name.s[k] + 32 : name.s[k]);
        buf_str(out, first ? ",\"headers\":{" : ",");
        first = false;
        buf_json(out, lower, n);
        buf_str(out, ":[");
        bool more = false;
        for (size_t k = i; k < h->nfields; k++) {
            if (h->fields[k].name.n != name.n ||
                strncasecmp(h->fields[k].name.s, name.s, name.n) != 0)
                continue;
            buf_str(out, more ? "," : "");
            buf_json(out, h->fields[k].value.s, h->fields[k].value.n);
            more = true;
        }
        buf_chr(out, ']');
    }
    buf_str(out, first ? "" : "}");
}

static void write_question(const struct conn *c, const struct http_head *h, struct slice target,
                           uint64_t id, struct buf *out)
{
    const struct handling *with = c->gate->o->handling;
    const char *mark = memchr(target.s, '?', target.n);
    size_t npath = mark ? (size_t)(mark - target.s) : target.n;
    buf_fmt(out, "{\"t\":\"req\",\"id\":%llu,\"method\":", (unsigned long long)id);
    buf_json(out, h->method.s, h->method.n);
    buf_str(out, ",\"host\":");
    buf_json(out, c->host.name, c->host.len);
    buf_fmt(out, ",\"port\":%u,\"path\":", c->port);
    buf_json(out, target.s, npath);
    if (mark && target.n > npath + 1) {
        buf_str(out, ",\"query\":");
        buf_json(out, mark + 1, target.n - npath - 1);
    }
    if (!with->framed) {
        buf_fmt(out, ",\"scheme\":\"%s\"", c->client.tls ? "https" : "http");
        if (with->user) {
            buf_str(out, ",\"user\":");
            buf_json(out, with->user, strlen(with->user));
        }
    }
    write_fields(h, out);
    buf_chr(out, '}');
}

void decider_show(struct conn *c, const struct buf *body, bool cut)
{
    enum { AT_ONCE = 3 << 10 };
    char text[BASE64_SIZE(AT_ONCE)];
    OWN(buf) struct buf out = {0};
    buf_fmt(&out, "{\"t\":\"body\",\"id\":%llu,\"data\":\"", (unsigned long long)c->deciding);
    for (size_t at = 0; at < body->n; at += AT_ONCE) {
        size_t left = body->n - at;
        buf_add(&out, text, base64_encode(body->s + at, left < AT_ONCE ? left : AT_ONCE, text));
    }
    buf_str(&out, cut ? "\",\"cut\":true}" : "\"}");
    c->decide_until_ms = answer_until(c);
    send_text(c->gate->decider, &out);
}

bool decider_hold(struct gate *g, size_t n)
{
    if (n > HELD_MAX - g->decider->held)
        return false;
    g->decider->held += n;
    return true;
}

void decider_let_go(struct gate *g, size_t n)
{
    if (g->decider)
        g->decider->held -= n;
}

static enum may refuse_now(struct conn *c, uint16_t status, const char *reason)
{
    refuse_with(c, status, reason);
    return c->decision ? MAY : MAY_NOT;
}

enum may decider_ask(struct conn *c, const struct http_head *h, struct slice target)
{
    struct decider *d = c->gate->decider;
    OWN(buf) struct buf text = {0};
    if (c->decision)
        return MAY;
    if (!d || d->waiting >= WAITING_MAX || !connect_again(d))
        return refuse_now(c, 503, no_decider);
    write_question(c, h, target, ++d->last_id, &text);
    if (text.n > DECIDER_FRAME)
        return refuse_now(c, 400, "request too large for the decider");
    c->deciding = d->last_id;
    c->asked_body = false;
    c->decide_until_ms = answer_until(c);
    c->deadline_ms = 0; /* the question has its own */
    c->gate->sweeps = true;
    d->waiting++;
    /* while this one is not counted as waiting for the link, it may fail */
    uint64_t id = c->deciding;
    c->deciding = 0;
    send_text(d, &text);
    if (d->in.fd < 0)
        return refuse_now(c, 503, no_decider);
    c->deciding = id;
    return MAY_LATER;
}

void decider_leave(struct conn *c)
{
    struct decider *d = c->gate->decider;
    if (c->deciding && d && d->waiting)
        d->waiting--;
    c->deciding = 0;
    decide_body_end(c);
}

void decider_sweep(struct gate *g)
{
    for (struct conn *c = g->decider ? g->conns : NULL, *next; c; c = next) {
        next = c->next;
        g->sweeps |= c->deciding != 0;
        if (!c->deciding || g->loop.now_ms < c->decide_until_ms)
            continue;
        bool reads = c->shown != NULL;
        decider_leave(c);
        refuse_with(c, 503, reads ? late_body : "request decider timed out");
        conn_pump(c);
    }
}

int decider_begin(struct gate *g)
{
    const struct handling *h = g->o->handling;
    if (!handling_decides(h))
        return 0;
    struct decider *d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    d->gate = g;
    d->in.fd = d->out.fd = -1;
    g->decider = d;
    return h->framed && watch_both(d, h->decider_in, h->decider_out) < 0 ? -EBADF : 0;
}

void decider_end(struct gate *g)
{
    struct decider *d = g->decider;
    if (!d)
        return;
    loop_remove(&g->loop, &d->in);
    loop_remove(&g->loop, &d->out);
    queue_free(&d->from);
    queue_free(&d->to);
    free(d);
    g->decider = NULL;
}
