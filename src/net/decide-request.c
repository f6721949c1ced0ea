/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Requests that another program decides about, after the policy has allowed them. What servers read
 * in two ways is refused before that program is asked, unless the settings hand it over; requests
 * whose answer would repeat a field that was set are refused, too.
 */

#include "net/decide-request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/decider.h"
#include "net/handling.h"
#include "net/plain-http.h"
#include "net/proxy.h"

void decide_forget(struct conn *c)
{
    if (c->decision)
        decision_free(c->decision);
    free(c->decision);
    c->decision = NULL;
}

static enum may refuse(struct decide_no *no, int status, const char *mark, const char *why)
{
    no->status = status;
    no->mark = mark;
    snprintf(no->why, sizeof(no->why), "%s", why);
    return MAY_NOT;
}

static bool is_echo(struct slice method)
{
    return method.n == 5 &&
           (memcmp(method.s, "TRACE", 5) == 0 || memcmp(method.s, "TRACK", 5) == 0);
}

static enum may follow(const struct conn *c, struct decide_no *no)
{
    const struct decision *d = c->decision;
    no->wants_http1 = d->wants_http1;
    if (d->allow && d->add.n && !c->client.tls && !c->gate->o->handling->plain_headers)
        return refuse(no, 403, PROXY_BLOCKED,
                      "the decider sets header fields, and this request is not encrypted");
    if (d->allow)
        return MAY;
    return refuse(no, d->status, PROXY_BLOCKED, d->reason[0] ? d->reason : "the decider denies it");
}

enum may decide_judge(struct conn *c, const struct http_head *h, struct slice target,
                      struct decide_no *no)
{
    const struct handling *with = c->gate->o->handling;
    OWN(buf) struct buf plain = {0};
    if (!handling_decides(with))
        return MAY;
    if (is_echo(h->method))
        return refuse(no, 405, PROXY_BLOCKED, "TRACE would return header fields");
    bool other = handling_normalize(target, &plain);
    if (!buf_ok(&plain)) {
        conn_reset(c);
        return MAY_NOT;
    }
    if (other && with->targets == TARGET_REFUSE)
        return refuse(no, 400, "ambiguous-request-target",
                      "servers could read this path differently");
    if (other && with->targets == TARGET_NORMALIZED)
        target = (struct slice){plain.s, plain.n};
    enum may may = decider_ask(c, h, target);
    if (may == MAY_NOT)
        conn_reset(c);
    return may == MAY ? follow(c, no) : may;
}

bool decide_request(struct conn *c, const struct http_head *h, struct slice target)
{
    struct decide_no no = {0};
    enum may may = decide_judge(c, h, target, &no);
    if (may == MAY_NOT && no.status) {
        struct graph_verdict v = {.flags = VOCAB_FLAG_REPORT, .rule = GRAPH_NO_RULE};
        plain_http_report(c, h->method, target, &v, no.why);
        proxy_refuse_with(c, no.status, no.mark, no.why);
        decide_forget(c);
    }
    return may == MAY;
}

/* The names of a decision, which are separated by zero bytes. */
static size_t list_names(const struct buf *names, const char **out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < names->n && n < cap; i += strlen(names->s + i) + 1)
        out[n++] = names->s + i;
    return n;
}

static struct slice target_of(const char *head, size_t n)
{
    const char *line = memchr(head, '\r', n), *a = memchr(head, ' ', n);
    const char *b = a && line && line > a + 1 ? memchr(a + 1, ' ', (size_t)(line - a - 1)) : NULL;
    return b ? (struct slice){a + 1, (size_t)(b - a - 1)} : (struct slice){0};
}

struct head_edit decide_edit(const struct conn *c, struct slice target,
                             const char *names[DECIDE_NAMES], struct buf *plain)
{
    const struct decision *d = c->decision;
    struct head_edit e = {.remove = {names, list_names(&d->removed, names, DECIDE_NAMES)},
                          .add = d->add.s,
                          .nadd = d->add.n};
    if (c->gate->o->handling->targets == TARGET_NORMALIZED && target.s &&
        handling_normalize(target, plain))
        e.target = (struct slice){plain->s, plain->n};
    return e;
}

void decide_send_head(struct conn *c, const char *head, size_t n)
{
    const char *names[DECIDE_NAMES];
    OWN(buf) struct buf out = {0}, plain = {0};
    if (!c->decision) {
        side_send(&c->server, head, n);
        return;
    }
    struct head_edit e = decide_edit(c, target_of(head, n), names, &plain);
    handling_edit_head(head, n, &e, &out);
    if (buf_ok(&out) && buf_ok(&plain))
        side_send(&c->server, out.s, out.n);
    else
        conn_reset(c);
    decide_forget(c);
}
