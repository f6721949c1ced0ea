/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A request's body, for the program that decides about the request. The body waits in c->in, behind
 * its header, until there is a decision; what is shown is a copy without the framing. Nobody can
 * make that large: the program says how much it wants, and framing that is much larger than what it
 * carries counts as the end of what is shown.
 */

#include "net/decide-body.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "net/decider.h"
#include "net/plain-http.h"

enum { FRAMING_MAX = 256 << 10 };

struct body_copy {
    struct http_body body;
    size_t begin, at; /* of c->in: where the body begins, and how much of it was read */
    size_t most, held;
    struct buf text;
    bool shown;
};

/* The client waits for this before it sends a body, and the server cannot say it yet. */
static void let_it_send(struct conn *c, const struct http_head *h)
{
    static const char name[] = "expect", text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].name.n == strlen(name) &&
            strncasecmp(h->fields[i].name.s, name, strlen(name)) == 0) {
            side_send(&c->client, text, sizeof(text) - 1);
            return;
        }
}

const char *decide_body_begin(struct conn *c, size_t most)
{
    struct http_head *h = &c->gate->head;
    const char *data = queue_data(&c->in);
    if (http_head_read(data, queue_size(&c->in), h) != HTTP_FOUND)
        return "the request's body cannot be shown";
    size_t held = h->framing == HTTP_LENGTH && h->length < most ? (size_t)h->length : most;
    held = h->framing == HTTP_NO_BODY ? 0 : held;
    if (!decider_hold(c->gate, held))
        return "too many request bodies held for inspection";
    struct body_copy *b = calloc(1, sizeof(*b));
    if (!b) {
        decider_let_go(c->gate, held);
        return "there is not enough memory to show the request's body";
    }
    *b = (struct body_copy){.begin = h->size, .at = h->size, .most = most, .held = held};
    http_body_start(&b->body, h->framing, h->length);
    c->shown = b;
    if (!http_body_is_over(&b->body) && queue_size(&c->in) == h->size)
        let_it_send(c, h);
    return NULL;
}

void decide_body_end(struct conn *c)
{
    struct body_copy *b = c->shown;
    if (!b)
        return;
    decider_let_go(c->gate, b->held);
    buf_free(&b->text);
    free(b);
    c->shown = NULL;
    c->wants = 0;
}

bool decide_body_waits(const struct conn *c)
{
    return c->shown && !c->shown->shown;
}

/* Copies what is there. Returns false if the body is malformed; *cut: there is more than wanted. */
static bool copy(struct body_copy *b, const char *data, size_t n, bool *cut)
{
    while (b->at < n && !http_body_is_over(&b->body) && !*cut) {
        bool inside;
        ssize_t step = http_body_next(&b->body, data + b->at, n - b->at, &inside);
        if (step < 0)
            return false;
        size_t room = b->most - b->text.n, part = (size_t)step;
        if (inside)
            buf_add(&b->text, data + b->at, part < room ? part : room);
        *cut = inside && part > room;
        b->at += part;
    }
    *cut |= b->at - b->begin > 2 * b->most + FRAMING_MAX;
    return true;
}

void decide_body_more(struct conn *c)
{
    struct body_copy *b = c->shown;
    bool cut = false;
    if (b->shown)
        return;
    if (!copy(b, queue_data(&c->in), queue_size(&c->in), &cut)) {
        plain_http_refuse(c, "the body does not match its framing");
        return;
    }
    if (!buf_ok(&b->text) || (c->client.ended && !cut && !http_body_is_over(&b->body))) {
        conn_reset(c);
        return;
    }
    c->wants = queue_size(&c->in) + HTTP_HEAD_MAX; /* read more */
    if (!cut && !http_body_is_over(&b->body))
        return;
    b->shown = true;
    c->wants = 0;
    decider_show(c, &b->text, cut);
}
