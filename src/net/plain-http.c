/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Plain HTTP to a known destination (inspect.c). Each request must name that destination, so
 * requests are read one at a time, each after the previous answer has ended. HTTP/2 requests don't
 * wait for answers (plain-h2.c).
 *
 * An external proxy accepts requests for any host, including CONNECT. A destination counts as a
 * proxy only if a rule names its exact address and port, or its port on this machine: the user
 * wrote that down. On a host that was allowed by name, CONNECT would bypass the check of names.
 */

#include "net/plain-http.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "net/decide-request.h"
#include "net/gate-int.h"
#include "net/handling.h"
#include "net/h2-answer.h"
#include "net/insert.h"
#include "net/proxy.h"

void plain_http_refuse_name(struct conn *c, const struct peer *named, const char *how)
{
    char why[PEER_MAX + 80];
    struct graph_verdict v = rules_ask(&c->gate->rules, named, c->port, NET_TCP);
    snprintf(why, sizeof(why), "%s names %s", how, named->name);
    struct gate_denial d = {
        .host = &c->host, .port = c->port, .verdict = v, .why = why, .client = c->who};
    d.verdict.allow = false;
    gate_deny(c->gate, &d);
    conn_reset(c);
}

/* An address or a local port was allowed as such, so any name may be used with it. A name must stay
 * the same. */
bool plain_http_agrees(const struct conn *c, const struct peer *named)
{
    struct graph_verdict v;
    if (peer_equal(named, &c->host))
        return true;
    if (c->host.address)
        return !named->address;
    if (!peer_is_localhost(&c->host))
        return false;
    v = rules_ask(&c->gate->rules, named, c->port, NET_TCP);
    return !named->address || v.allow; /* another spelling of the same machine */
}

void plain_http_refuse(struct conn *c, const char *why)
{
    struct graph_verdict v = rules_ask(&c->gate->rules, &c->host, c->port, NET_TCP);
    struct gate_denial d = {
        .host = &c->host, .port = c->port, .verdict = v, .why = why, .client = c->who};
    d.verdict.allow = false;
    gate_deny(c->gate, &d);
    conn_reset(c);
}

/* ---- rules about requests ---- */

/* The verdict about each reading of the target: all have to be allowed. */
static struct graph_verdict ask_readings(struct conn *c, const struct request *r)
{
    struct graph_verdict v = {0};
    for (size_t i = 0; i < r->npaths && (i == 0 || v.allow); i++) {
        struct rules_request q = {.method = r->method.s,
                                  .nmethod = r->method.n,
                                  .path = r->paths[i].s,
                                  .npath = r->paths[i].n,
                                  .query = r->query.s,
                                  .nquery = r->query.n};
        v = rules_ask_request(&c->gate->rules, &c->host, c->port, &q);
    }
    return v;
}

void plain_http_report(struct conn *c, struct slice method, struct slice target,
                       const struct graph_verdict *v, const char *why)
{
    char text[512];
    const char *query = memchr(target.s, '?', target.n); /* may have secrets */
    size_t n = query ? (size_t)(query - target.s) : target.n;
    snprintf(text, sizeof(text), "%.*s %.*s", (int)method.n, method.s, (int)(n < 400 ? n : 400),
             target.s);
    gate_deny(c->gate, &(struct gate_denial){.host = &c->host,
                                             .port = c->port,
                                             .verdict = *v,
                                             .why = why,
                                             .request = text,
                                             .client = c->who});
}

bool plain_http_may(struct conn *c, struct slice method, struct slice target, bool overrides,
                    struct graph_verdict *v, const char **why)
{
    struct request r;
    *v = (struct graph_verdict){.flags = VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE};
    *why = request_read(method, target, c->gate->readings, &r);
    if (!*why && overrides)
        *why = "a header field names another method or path";
    if (!*why) {
        *v = ask_readings(c, &r);
        c->inserts = secrets_for_request(c->gate->secrets, &c->host, c->port, &r);
    }
    if (!v->allow || v->flags & VOCAB_FLAG_REPORT)
        plain_http_report(c, method, target, v, *why);
    if (!v->allow && !*why && !rules_explicit(&c->gate->rules, v))
        *why = "it is not among the allowed requests"; /* the rule's message is about hosts */
    return v->allow;
}

static bool has_override(const struct http_head *h)
{
    for (size_t i = 0; i < h->nfields; i++)
        if (request_is_override(h->fields[i].name))
            return true;
    return false;
}

static bool check_rules(struct conn *c, const struct http_head *h, struct slice target)
{
    c->inserts = 0;
    struct graph_verdict v;
    const char *why;
    if (!rules_by_request(&c->gate->rules, &c->host, c->port))
        return true;
    if (plain_http_may(c, h->method, target, has_override(h), &v, &why))
        return true;
    proxy_refuse_request(c, h->method, &v, why);
    return false;
}

static bool check_request(struct conn *c, const struct http_head *h, bool their_proxy)
{
    struct slice target =
        h->form == HTTP_ABSOLUTE && h->path.n == 0 ? (struct slice){"/", 1} : h->path;
    bool judged = rules_by_request(&c->gate->rules, &c->host, c->port) ||
                  handling_decides(c->gate->o->handling);
    if (judged && their_proxy) {
        plain_http_refuse(c, "requests through another proxy cannot be checked");
        return false;
    }
    /* with a decision, the rules have allowed it before */
    return (c->decision || check_rules(c, h, target)) && decide_request(c, h, target);
}

/* ---- requests ---- */

static void begin_exchange(struct conn *c, const struct http_head *h)
{
    c->sending = c->awaiting = true;
    c->answering = false;
    c->head_method = h->method.n == 4 && memcmp(h->method.s, "HEAD", 4) == 0;
    c->upgrading = h->upgrade;
    c->upgrade_to = h->upgrade_to;
    c->connecting = h->form == HTTP_AUTHORITY;
    http_body_start(&c->body, h->framing, h->length);
    queue_free(&c->answer);
    c->answer_raw = false;
}

/* changed: the header with secrets; empty if it has none. */
static void send_head(struct conn *c, const struct http_head *h, const struct buf *changed)
{
    OWN(buf) struct buf out = {0};
    if (changed->n) {
        decide_send_head(c, changed->s, changed->n);
        return;
    }
    if (!c->proxied) {
        decide_send_head(c, queue_data(&c->in) + c->ahead, h->size - c->ahead);
        c->ahead = 0;
        return;
    }
    http_head_forward(h, &out);
    if (buf_ok(&out))
        decide_send_head(c, out.s, out.n);
}

/* A proxy's client may switch to another host with each request. */
static bool switch_host(struct conn *c, const struct peer *host, uint16_t port)
{
    struct gate_verdict v;
    if (c->server.watch.fd >= 0 && !c->server.ended && peer_equal(host, &c->host) &&
        port == c->port)
        return true;
    enum may may = gate_check(c, host, port, &v);
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

/* The reason why the form of a request is not allowed, or NULL. */
static const char *is_out_of_form(const struct conn *c, const struct http_head *h, bool their_proxy)
{
    if (h->form == HTTP_AUTHORITY && (c->proxied || !their_proxy))
        return "CONNECT needs a rule that allows the proxy by address and port";
    if (h->form == HTTP_AUTHORITY && h->framing != HTTP_NO_BODY)
        return "CONNECT has a body";
    return c->proxied && !h->named ? "the request names no host" : NULL;
}

static bool write_head(struct conn *c, const struct http_head *h, struct buf *out)
{
    const char *why = insert_head(c, h, out);
    if (!why)
        return true;
    struct graph_verdict v = {.flags = VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE};
    plain_http_report(c, h->method, h->path, &v, why);
    proxy_refuse_request(c, h->method, &v, why);
    return false;
}

/* A client may keep a connection for as long as it wants, but not a header. */
static bool await_head(struct conn *c)
{
    if (queue_size(&c->in) && !c->deadline_ms)
        conn_limit(c, HEAD_MS);
    return false;
}

void plain_http_expired(struct conn *c)
{
    plain_http_refuse(c, "the request's header took too long");
}

static bool begin_request(struct conn *c)
{
    OWN(buf) struct buf changed = {0};
    struct http_head *h = &c->gate->head;
    enum http_result got = http_head_read(queue_data(&c->in), queue_size(&c->in), h);
    if (queue_size(&c->in) == 0 || got == HTTP_MORE)
        return await_head(c);
    c->deadline_ms = 0;
    /* check rules only if it matters */
    bool whole = got == HTTP_FOUND && (h->form == HTTP_AUTHORITY || h->form == HTTP_ABSOLUTE);
    bool theirs = whole && !c->proxied && rules_name_place(&c->gate->rules, &c->host, c->port);
    const char *wrong = got == HTTP_BAD ? h->wrong : is_out_of_form(c, h, theirs);
    if (wrong) {
        plain_http_refuse(c, wrong);
        return false;
    }
    if (!c->proxied && !theirs && h->named && !plain_http_agrees(c, &h->host)) {
        plain_http_refuse_name(c, &h->host, "the request");
        return false;
    }
    if (c->proxied && !switch_host(c, &h->host, h->port))
        return false;
    if (insert_waits(c, h) || !check_request(c, h, theirs) || !write_head(c, h, &changed))
        return false;
    begin_exchange(c, h);
    send_head(c, h, &changed);
    queue_take(&c->in, h->size);
    if (c->server.watch.fd < 0 && !c->dial)
        conn_dial(c);
    return true;
}

/* Closes the connection if both directions have ended and no request may follow. */
static void finish_exchange(struct conn *c)
{
    if (!c->sending && !c->awaiting && c->close_after)
        conn_finish(c);
}

static bool pass_body(struct conn *c)
{
    size_t n = queue_size(&c->in);
    ssize_t used = n ? insert_body(c, queue_data(&c->in), n) : 0;
    if (used < 0) {
        plain_http_refuse(c, "the body does not match its framing");
        return false;
    }
    if (used > 0)
        queue_take(&c->in, (size_t)used);
    if (!http_body_is_over(&c->body))
        return false;
    c->sending = false;
    finish_exchange(c);
    return true;
}

bool plain_http_requests(struct conn *c)
{
    if (c->sending)
        return pass_body(c);
    return !c->awaiting && begin_request(c);
}

/* ---- answers ---- */

static void end_answer(struct conn *c)
{
    c->awaiting = c->answering = false;
    finish_exchange(c);
}

/* Switches to the protocol of the upgrade; the next bytes must belong to it. */
static void switch_protocol(struct conn *c)
{
    c->to_tls = !(c->upgrade_to & HTTP_TO_H2) && c->upgrade_to & HTTP_TO_TLS;
    c->upgraded = c->upgrade_to & HTTP_TO_H2;
    c->awaiting = false;
    c->state = c->upgraded ? CONN_H2 : c->to_tls ? CONN_INSPECT : CONN_RELAY;
}

/* ---- secrets in answers ---- */

static bool is_masked(const struct conn *c)
{
    return secrets_for_host(c->gate->secrets, &c->host, c->port) != 0;
}

bool plain_http_passes(const struct conn *c)
{
    bool strips = c->gate->o->handling && c->gate->o->handling->strip.n;
    return (c->state == CONN_RELAY && !c->unread) ||
           (c->state == CONN_HTTP && c->awaiting && !strips && !is_masked(c));
}

static void send_masked(struct conn *c, bool end)
{
    uint32_t which = secrets_for_host(c->gate->secrets, &c->host, c->port);
    ssize_t n = secrets_flow_ready(c->gate->secrets, which, &c->masked, end);
    if (n < 0) {
        conn_reset(c);
    } else if (n) {
        side_send(&c->client, c->masked.raw.s, (size_t)n);
        secrets_flow_sent(&c->masked, (size_t)n);
    }
}

void plain_http_answer_ended(struct conn *c)
{
    if (c->masked.raw.n)
        send_masked(c, true);
}

/* Returns the length of an answer's header, or 0 if it is incomplete or malformed. */
static size_t take_answer_head(struct conn *c, const char *data, size_t n)
{
    struct http_answer a;
    enum http_result got = http_answer_read(data, n, c->head_method, &a);
    bool strips = c->gate->o->handling && c->gate->o->handling->strip.n;
    if (got == HTTP_BAD && (strips || is_masked(c))) {
        plain_http_refuse(c, strips
                                 ? "its answer cannot be read, and fields of it are to be removed"
                                 : "it gets credentials, and its answer is malformed");
        return 0;
    }
    if (got == HTTP_BAD)
        c->answer_raw = c->close_after =
            true; /* treat it as opaque, and allow no further request */
    if (got != HTTP_FOUND)
        return 0;
    if (is_masked(c) && (a.status == 101 || secrets_answer_is_encoded(data, a.size))) {
        plain_http_refuse(
            c, a.status == 101 ? "it gets credentials, and could return them over another protocol"
                               : "it gets credentials, and its answer is compressed");
        return 0;
    }
    if (a.status == 101 && c->upgrading)
        switch_protocol(c);
    if (a.status < 200)
        return a.size; /* an interim answer; the final one follows */
    if (c->connecting && a.status < 300) {
        c->state = CONN_RELAY;
        return a.size;
    }
    c->close_after = a.close || a.until_close;
    c->answer_raw = a.until_close;
    http_body_start(&c->answer_body, a.framing, a.length);
    c->answering = true;
    if (http_body_is_over(&c->answer_body) && !a.until_close)
        end_answer(c);
    return a.size;
}

static size_t take_answer_body(struct conn *c, const char *data, size_t n, bool *inside)
{
    ssize_t used = is_masked(c) ? http_body_next(&c->answer_body, data, n, inside)
                                : http_body_take(&c->answer_body, data, n);
    if (used < 0) {
        c->answer_raw = c->close_after = true;
        used = (ssize_t)n;
    }
    if (!c->answer_raw && http_body_is_over(&c->answer_body))
        end_answer(c);
    return (size_t)used;
}

static void forward(struct conn *c, const char *data, size_t n, bool masked)
{
    if (masked && c->answer_raw)
        secrets_flow_add(&c->masked, data, n, true);
    if (masked)
        send_masked(c, !c->awaiting);
    else
        side_send(&c->client, data, n);
}

/* Sends an answer's header without the fields that the client must not get. */
static void pass_stripped(struct conn *c, const char *head, size_t n, bool masked)
{
    OWN(buf) struct buf out = {0};
    const struct head_edit e = {.remove = c->gate->o->handling->strip};
    handling_edit_head(head, n, &e, &out);
    if (!buf_ok(&out))
        conn_reset(c);
    else if (masked)
        secrets_flow_add(&c->masked, out.s, out.n, false);
    else
        side_send(&c->client, out.s, out.n);
}

/* Forwards the parsed part in one piece and returns its length. The rest is the start of
 * a header. */
static size_t take_answer(struct conn *c, const char *data, size_t n)
{
    size_t used = 0, step = 1, noted = 0;
    bool masked = is_masked(c), strips = c->gate->o->handling && c->gate->o->handling->strip.n;
    while (used < n && step && c->awaiting && c->state == CONN_HTTP && !c->answer_raw) {
        bool inside = c->answering, head = !inside;
        step = inside ? take_answer_body(c, data + used, n - used, &inside)
                      : take_answer_head(c, data + used, n - used);
        if (!c->dead && strips && step && head) {
            if (!masked)
                side_send(&c->client, data + noted, used - noted);
            pass_stripped(c, data + used, step, masked);
            noted = used + step;
        } else if (masked && !c->dead) {
            secrets_flow_add(&c->masked, data + used, step, inside);
        }
        used += step;
    }
    if (c->dead)
        return n;
    noted = masked ? used : noted;
    if (c->state == CONN_H2) {
        side_send(&c->client, data + noted, used - noted);
        plain_http_h2_answer(c, data + used, n - used);
        return n;
    }
    if (c->answer_raw || c->state != CONN_HTTP)
        used = n;
    forward(c, data + noted, used - noted, masked);
    /* drop an answer that no request asked for */
    return c->awaiting && c->state == CONN_HTTP ? used : n;
}

void plain_http_answer(struct conn *c, const char *data, size_t n)
{
    size_t used = 0;
    if (queue_size(&c->answer) == 0) { /* the usual case */
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
