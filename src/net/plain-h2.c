/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * HTTP/2 to a known destination. Requests don't wait for answers; h2.c finds them in the client's
 * bytes. Where the policy distinguishes requests, or another program decides about them, each is
 * asked about, and the answers to denied ones go between the server's frames.
 */

#include "net/plain-http.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/own.h"
#include "net/decide-request.h"
#include "net/gate-int.h"
#include "net/h2-answer.h"
#include "net/h2-fields.h"
#include "net/handling.h"

enum { H2_AT_ONCE = 1024 }; /* connections; each takes about ten kilobytes */

static bool h2_agrees(void *arg, const struct peer *named)
{
    struct conn *c = arg;
    if (plain_http_agrees(c, named))
        return true;
    plain_http_refuse_name(c, named, "the request");
    return false;
}

static enum h2_verdict deny(struct h2_denial *no, int status, const char *why)
{
    no->status = (uint16_t)status;
    snprintf(no->why, sizeof(no->why), "%.*s", (int)sizeof(no->why) - 1,
             why ? why : "by the sandbox's policy");
    return H2_DENY;
}

static enum h2_verdict refuse_decided(struct conn *c, const struct h2_asked *q,
                                      const struct decide_no *why, struct h2_denial *no)
{
    struct graph_verdict v = {.flags = VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE};
    if (!why->status)
        return H2_END;
    plain_http_report(c, q->method, q->target, &v, why->why);
    decide_forget(c);
    no->mark = why->mark;
    no->wants_http1 = why->wants_http1;
    return deny(no, why->status, why->why);
}

/* While another program decides, nothing more of the client is read. */
static enum h2_verdict decide(struct conn *c, const struct h2_asked *q, struct h2_denial *no)
{
    struct http_head *h = &c->gate->head;
    const char *names[DECIDE_NAMES];
    OWN(buf) struct buf plain = {0};
    struct decide_no why = {0};
    if (!handling_decides(c->gate->o->handling))
        return H2_SEND;
    if (!h2_fields_head(q->fields, h))
        return deny(no, 400, "request too large for the decider");
    h->method = q->method;
    enum may may = decide_judge(c, h, q->target, &why);
    if (may == MAY_NOT)
        return refuse_decided(c, q, &why, no);
    if (may == MAY_LATER)
        return H2_WAIT;
    struct head_edit e = decide_edit(c, q->target, names, &plain);
    h2_fields_edit(q->fields, &e);
    q->fields->failed |= !buf_ok(&plain);
    decide_forget(c);
    return H2_SEND;
}

static enum h2_verdict h2_may(void *arg, const struct h2_asked *q, struct h2_denial *no)
{
    struct conn *c = arg;
    struct graph_verdict v;
    const char *why;
    /* with a decision, the rules have allowed it before */
    if (c->decision || !rules_by_request(&c->gate->rules, &c->host, c->port) ||
        plain_http_may(c, q->method, q->target, q->overrides, &v, &why))
        return decide(c, q, no);
    return deny(no, 403, why ? why : graph_rule_message(c->gate->rules.graph, v.rule));
}

static bool begin_h2(struct conn *c)
{
    struct gate *g = c->gate;
    if (secrets_for_host(g->secrets, &c->host, c->port)) {
        plain_http_refuse(c, "it gets credentials, which need HTTP/1.1");
        return false;
    }
    if (handling_needs_http1(g->o->handling)) {
        plain_http_refuse(c, "its answers are changed, which needs HTTP/1.1");
        return false;
    }
    if (g->nh2 >= H2_AT_ONCE) {
        plain_http_refuse(c, "too many HTTP/2 connections");
        return false;
    }
    c->h2 = h2_new(c->upgraded, h2_agrees, c);
    if (!c->h2) {
        conn_reset(c);
        return false;
    }
    g->nh2++;
    if (!rules_by_request(&g->rules, &c->host, c->port) && !handling_decides(g->o->handling))
        return true;
    if (!h2_judge(c->h2, h2_may)) {
        conn_reset(c);
        return false;
    }
    h2_own_answers(c->h2)->at = c->h2_place;
    return true;
}

static void send_own_answers(struct conn *c)
{
    struct h2_answers *a = h2_own_answers(c->h2);
    if (!a->waiting.n || !h2_answers_may_send(a))
        return;
    side_send(&c->client, a->waiting.s, a->waiting.n);
    a->waiting.n = 0;
}

static void send_judged(struct conn *c)
{
    struct buf *out = h2_output(c->h2);
    if (!buf_ok(out) || h2_own_answers(c->h2)->waiting.failed) {
        conn_reset(c);
        return;
    }
    side_send(&c->server, out->s, out->n);
    out->n = 0;
    send_own_answers(c);
}

static bool refuse_h2(struct conn *c)
{
    /* refusing a name closes the connection, and its bytes are gone */
    if (!c->dead)
        plain_http_refuse(c, h2_wrong(c->h2));
    return false;
}

bool plain_http_h2(struct conn *c)
{
    if (c->h2 && h2_waits(c->h2)) {
        if (!h2_resume(c->h2))
            return refuse_h2(c);
        if (h2_waits(c->h2))
            return false;
        send_judged(c);
    }
    size_t n = queue_size(&c->in);
    if (c->dead || n == 0 || (!c->h2 && !begin_h2(c)))
        return false;
    const char *data = queue_data(&c->in);
    ssize_t used = h2_read(c->h2, (const uint8_t *)data, n);
    if (used < 0)
        return refuse_h2(c);
    if (used == 0)
        return false;
    if (h2_is_judged(c->h2)) {
        send_judged(c);
    } else {
        side_send(&c->server, data + c->ahead, (size_t)used - c->ahead);
        c->ahead = 0;
    }
    queue_take(&c->in, (size_t)used);
    return false;
}

void plain_http_h2_answer(struct conn *c, const char *data, size_t n)
{
    if (!c->h2 && !begin_h2(c))
        return;
    while (n && h2_is_judged(c->h2)) {
        size_t part = h2_answers_follow(h2_own_answers(c->h2), (const uint8_t *)data, n);
        side_send(&c->client, data, part);
        send_own_answers(c);
        data += part;
        n -= part;
    }
    side_send(&c->client, data, n);
}
