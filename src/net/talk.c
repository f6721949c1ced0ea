/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What clients say once their destination is known. TLS has to name it in its hello; plain HTTP has
 * to name it in every request, so requests are read one by one, each only when the answer to the
 * one before has ended. Anything else is passed on: it cannot lead elsewhere than to the host that
 * was dialled.
 */

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "net/gate-int.h"

static void deny(struct conn *c, const struct peer *said, const char *how)
{
    char why[PEER_MAX + 80];
    struct graph_verdict v = rules_ask(&c->gate->rules, said, c->port, NET_TCP);
    snprintf(why, sizeof(why), "%s names %s", how, said->name);
    struct gate_denial d = {
        .host = &c->host, .port = c->port, .verdict = v, .why = why, .client = c->who};
    d.verdict.allow = false;
    gate_deny(c->gate, &d);
}

/* An address was allowed as such, whatever name is used with it, and so is a port of this machine;
 * a name has to stay itself. */
static bool agrees(const struct conn *c, const struct peer *said)
{
    struct graph_verdict v;
    if (peer_equal(said, &c->host))
        return true;
    if (c->host.address)
        return !said->address;
    if (!peer_is_localhost(&c->host))
        return false;
    v = rules_ask(&c->gate->rules, said, c->port, NET_TCP);
    return !said->address || v.allow; /* another spelling of the same machine */
}

/* ---- first bytes ---- */

static void deny_plain(struct conn *c, const char *why)
{
    struct graph_verdict v = rules_ask(&c->gate->rules, &c->host, c->port, NET_TCP);
    struct gate_denial d = {
        .host = &c->host, .port = c->port, .verdict = v, .why = why, .client = c->who};
    d.verdict.allow = false;
    gate_deny(c->gate, &d);
    conn_reset(c);
}

bool talk_inspect(struct conn *c)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n";
    struct hello hello;
    const char *data = queue_data(&c->in);
    size_t n = queue_size(&c->in);
    if (n == 0)
        return false;
    switch (hello_read((const uint8_t *)data, n, &hello)) {
    case HELLO_MORE:
        return false;
    case HELLO_BAD:
        deny_plain(c, "a TLS hello that cannot be read");
        return false;
    case HELLO_FOUND:
        if (hello.named && !agrees(c, &hello.name)) {
            deny(c, &hello.name, "the TLS hello");
            conn_reset(c);
            return false;
        }
        c->state = CONN_RELAY;
        return true;
    default:
        break;
    }
    if (n >= 3 && memcmp(data, preface, n < sizeof(preface) - 1 ? n : sizeof(preface) - 1) == 0) {
        if (n < sizeof(preface) - 1)
            return false;
        deny_plain(c, "HTTP/2 without TLS hides the names it asks for");
        return false;
    }
    if (http_might_be(data, n)) {
        if (n < 4 || !memchr(data, ' ', n < 24 ? n : 24))
            return false; /* not enough to tell */
        c->state = CONN_HTTP;
        c->proxied = false;
        return true;
    }
    c->state = CONN_RELAY;
    return true;
}

/* ---- requests ---- */

static void begin_exchange(struct conn *c, const struct http_head *h)
{
    c->sending = c->awaiting = true;
    c->answering = false;
    c->head_method = h->method.n == 4 && memcmp(h->method.s, "HEAD", 4) == 0;
    c->upgrading = h->upgrade;
    http_body_start(&c->body, h->framing, h->length);
    queue_free(&c->answer);
    c->answer_raw = false;
}

static void send_head(struct conn *c, const struct http_head *h)
{
    OWN(buf) struct buf out = {0};
    if (!c->proxied) {
        side_send(&c->server, queue_data(&c->in), h->size);
        return;
    }
    http_head_forward(h, &out);
    if (buf_ok(&out))
        side_send(&c->server, out.s, out.n);
}

/* A proxy's client may turn to another host with each request. */
static bool turn_to(struct conn *c, const struct peer *host, uint16_t port)
{
    struct gate_verdict v;
    if (c->server.watch.fd >= 0 && !c->server.ended && peer_equal(host, &c->host) &&
        port == c->port)
        return true;
    enum may may = gate_asks(c, host, port, &v);
    if (may == MAY_NOT)
        proxy_refuse(c, host, port, &v.rule, v.why);
    if (may != MAY)
        return false;
    loop_remove(&c->gate->loop, &c->server.watch);
    queue_free(&c->server.out);
    c->server.connected = c->server.ended = c->server.shut = c->server.last = false;
    c->host = *host;
    c->port = port;
    return true;
}

static bool begin_request(struct conn *c)
{
    struct http_head *h = &c->gate->head;
    enum http_result got = http_head_read(queue_data(&c->in), queue_size(&c->in), h);
    if (queue_size(&c->in) == 0 || got == HTTP_MORE)
        return false;
    if (got == HTTP_BAD || (h->form == HTTP_AUTHORITY) || (c->proxied && !h->named)) {
        deny_plain(c, h->wrong ? h->wrong : "a request that names no host");
        return false;
    }
    if (!c->proxied && h->named && !agrees(c, &h->host)) {
        deny(c, &h->host, "the request");
        conn_reset(c);
        return false;
    }
    if (c->proxied && !turn_to(c, &h->host, h->port))
        return false;
    begin_exchange(c, h);
    send_head(c, h);
    queue_take(&c->in, h->size);
    if (c->server.watch.fd < 0 && !c->dial)
        conn_dial(c);
    return true;
}

/* Both halves have ended: the next request may come, if there is to be one. */
static void rest(struct conn *c)
{
    if (!c->sending && !c->awaiting && c->close_after)
        conn_finish(c);
}

static bool pass_body(struct conn *c)
{
    size_t n = queue_size(&c->in);
    ssize_t used = n ? http_body_take(&c->body, queue_data(&c->in), n) : 0;
    if (used < 0) {
        deny_plain(c, "a body that is not framed as it says");
        return false;
    }
    if (used > 0) {
        side_send(&c->server, queue_data(&c->in), (size_t)used);
        queue_take(&c->in, (size_t)used);
    }
    if (!http_body_is_over(&c->body))
        return false;
    c->sending = false;
    rest(c);
    return true;
}

bool talk_http(struct conn *c)
{
    if (c->sending)
        return pass_body(c);
    return !c->awaiting && begin_request(c);
}

/* ---- answers ---- */

static void end_answer(struct conn *c)
{
    c->awaiting = c->answering = false;
    rest(c);
}

/* How long an answer's head is, 0 when it is not all there, or no answer. */
static size_t take_answer_head(struct conn *c, const char *data, size_t n)
{
    struct http_answer a;
    enum http_result got = http_answer_read(data, n, c->head_method, &a);
    if (got == HTTP_BAD)
        c->answer_raw = c->close_after = true; /* whatever it is, no request comes after it */
    if (got != HTTP_FOUND)
        return 0;
    if (a.status == 101 && c->upgrading)
        c->state = CONN_RELAY;
    if (a.status < 200)
        return a.size; /* the real one follows */
    c->close_after = a.close || a.until_close;
    c->answer_raw = a.until_close;
    http_body_start(&c->answer_body, a.framing, a.length);
    c->answering = true;
    if (http_body_is_over(&c->answer_body) && !a.until_close)
        end_answer(c);
    return a.size;
}

static size_t take_answer_body(struct conn *c, const char *data, size_t n)
{
    ssize_t used = http_body_take(&c->answer_body, data, n);
    if (used < 0) {
        c->answer_raw = c->close_after = true;
        used = (ssize_t)n;
    }
    if (!c->answer_raw && http_body_is_over(&c->answer_body))
        end_answer(c);
    return (size_t)used;
}

/* Passes on what is understood, in one piece, and says how much it was; what is left is the
 * beginning of a head. */
static size_t take_answer(struct conn *c, const char *data, size_t n)
{
    size_t used = 0, step = 1;
    while (used < n && step && c->awaiting && c->state == CONN_HTTP && !c->answer_raw) {
        step = c->answering ? take_answer_body(c, data + used, n - used)
                            : take_answer_head(c, data + used, n - used);
        used += step;
    }
    if (c->answer_raw || c->state == CONN_RELAY)
        used = n;
    side_send(&c->client, data, used);
    /* what was said without having been asked for nobody hears, and it is not kept */
    return c->awaiting && c->state == CONN_HTTP ? used : n;
}

void talk_answer(struct conn *c, const char *data, size_t n)
{
    size_t used = 0;
    if (queue_size(&c->answer) == 0) { /* as nearly always */
        used = take_answer(c, data, n);
        if (used < n && queue_add(&c->answer, data + used, n - used) < 0)
            conn_finish(c);
        return;
    }
    if (queue_add(&c->answer, data, n) < 0) {
        conn_finish(c);
        return;
    }
    used = take_answer(c, queue_data(&c->answer), queue_size(&c->answer));
    queue_take(&c->answer, used);
}
