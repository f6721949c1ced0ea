/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A header with secrets is written once it has been judged, and only towards a server whose
 * certificate was verified. A placeholder is as long as its secret, so that framing stays as it is.
 */

#include "net/insert.h"

#include <string.h>

#include "base/own.h"
#include "net/gate-int.h"
#include "net/resign.h"

/* What carries secrets is encrypted, unless settings want it otherwise, and nothing of it was sent
 * before it was read. */
static uint32_t known_here(const struct conn *c)
{
    const struct secrets *s = c->gate->secrets;
    uint32_t known = secrets_for_host(s, &c->host, c->port);
    bool safe = c->server.tls && !c->proxied;
    return known && !c->ahead && (safe || s->unencrypted) ? known : 0;
}

bool insert_waits(struct conn *c, const struct http_head *h)
{
    c->wants = 0;
    uint32_t known = known_here(c);
    if (!known || !resign_needs_body(c->gate->secrets, known, h) ||
        queue_size(&c->in) >= h->size + h->length)
        return false;
    c->wants = h->size + (size_t)h->length;
    return true;
}

/* A body that is there already. */
static struct slice body_of(const struct conn *c, const struct http_head *h)
{
    size_t n = queue_size(&c->in) - h->size;
    if (h->framing != HTTP_LENGTH || h->length > RESIGN_BODY_MAX || n < h->length)
        return (struct slice){0};
    return (struct slice){queue_data(&c->in) + h->size, (size_t)h->length};
}

const char *insert_head(struct conn *c, const struct http_head *h, struct buf *out)
{
    OWN(buf) struct buf forward = {0};
    const struct secrets *s = c->gate->secrets;
    uint32_t known = known_here(c), which = known & c->inserts;
    struct slice head = {queue_data(&c->in), h->size};
    c->fills = 0;
    if (!known)
        return NULL;
    if (c->proxied) {
        http_head_forward(h, &forward);
        if (!buf_ok(&forward))
            return "out of memory";
        head = (struct slice){forward.s, forward.n};
    }
    const struct secrets_pair *pair = resign_find(s, which, h);
    /* what AWS answers in parts has no secret that a body could have brought there */
    bool ranges = pair && !secrets_in(s, known, SECRET_IN_BODY);
    secrets_write_head(s, which, ranges, head.s, head.n, out);
    if (!buf_ok(out))
        return "out of memory";
    if (pair)
        return resign(s, pair, h, body_of(c, h), out, &c->gate->outgoing);
    c->fills = secrets_in(s, which, SECRET_IN_BODY);
    c->filled.way = SECRETS_INSERT;
    return NULL;
}

/* Takes what is there of a body that gets secrets. */
static ssize_t fill_body(struct conn *c, const char *data, size_t n)
{
    size_t used = 0;
    while (used < n && !http_body_is_over(&c->body)) {
        bool inside;
        ssize_t step = http_body_next(&c->body, data + used, n - used, &inside);
        if (step < 0)
            return -1;
        secrets_flow_add(&c->filled, data + used, (size_t)step, inside);
        used += (size_t)step;
    }
    bool end = http_body_is_over(&c->body);
    ssize_t ready = secrets_flow_ready(c->gate->secrets, c->fills, &c->filled, end);
    if (ready < 0)
        return -1;
    side_send(&c->server, c->filled.raw.s, (size_t)ready);
    secrets_flow_sent(&c->filled, (size_t)ready);
    return (ssize_t)used;
}

ssize_t insert_body(struct conn *c, const char *data, size_t n)
{
    if (c->fills)
        return fill_body(c, data, n);
    ssize_t used = http_body_take(&c->body, data, n);
    if (used > 0)
        side_send(&c->server, data, (size_t)used);
    return used;
}
