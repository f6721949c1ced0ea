/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One end of a connection, with calls of its own: handshakes, and whatever has to have an answer at
 * once. Encrypted bytes wait here until a call takes them along, and each reply brings what has to
 * be sent, so that a packet costs one call in and one out. What one turn of the loop finds for
 * several connections goes the shorter way of tls-helper.c.
 */

#include "net/tls-helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one end ---- */

enum tls_result tls_end_fail(struct tls_end *t)
{
    if (!t->wrong[0])
        snprintf(t->wrong, sizeof(t->wrong), "the process that encrypts has ended");
    t->failed = true;
    return t->after = TLS_FAILED;
}

static void show(struct tls_end *t)
{
    struct tls_helper *h = t->helper;
    if (h->nshown && h->shown[h->nshown - 1] == t)
        return;
    h->shown[h->nshown++] = t;
}

/* One end may have several jobs in a batch. */
static bool show_out(struct tls_end *t, const char *out, size_t n)
{
    struct tls_shown *o = &t->shown_out;
    if (o->n && o->at + o->n == out) {
        o->n += n;
        return true;
    }
    if (queue_add(&t->out, o->at, o->n) < 0)
        return false;
    *o = (struct tls_shown){out, n};
    show(t);
    return true;
}

enum tls_result tls_end_note(struct tls_end *t, const struct tls_reply *r, const char *out)
{
    if (t->failed)
        return TLS_FAILED;
    t->asking = r->asking;
    t->offered = r->offered;
    t->others = r->others;
    t->chosen = r->chosen;
    t->alert = r->alert;
    memcpy(t->wrong, r->wrong, sizeof(t->wrong));
    if (r->nout && !show_out(t, out, r->nout))
        return tls_end_fail(t);
    if (r->result == TLS_FAILED)
        return tls_end_fail(t);
    return (enum tls_result)r->result;
}

enum tls_result tls_end_note_read(struct tls_end *t, const struct tls_reply *r, const char *plain,
                                  uint32_t want)
{
    if (t->failed)
        return TLS_FAILED;
    t->after = (enum tls_result)r->after;
    if (r->nplain > want)
        return tls_end_fail(t);
    t->shown_plain = (struct tls_shown){plain, r->nplain};
    if (r->nplain)
        show(t);
    return (enum tls_result)r->result;
}

/* A call with the bytes that wait. */
static bool call_with(struct tls_end *t, struct tls_call c, struct tls_reply *r)
{
    char *in = tls_helper_in(t->helper);
    if (t->failed) /* a job has */
        return false;
    c.number = t->number;
    c.n = (uint32_t)queue_size(&t->in);
    if (c.n)
        memcpy(in, queue_data(&t->in), c.n);
    queue_free(&t->in);
    return tls_helper_call(t->helper, &c, r) || tls_end_fail(t) != TLS_FAILED;
}

static enum tls_result note(struct tls_end *t, const struct tls_reply *r)
{
    return tls_end_note(t, r, t->helper->areas->out);
}

static struct tls_end *new_end(struct tls_helper *h, struct tls_call c, const struct peer *host,
                               const void *data, size_t n)
{
    struct tls_reply r;
    if (n > TLS_AREA - host->len)
        return NULL;
    struct tls_end *t = calloc(1, sizeof(*t));
    c.host = (uint32_t)host->len;
    c.n = (uint32_t)(host->len + n);
    c.address = host->address;
    char *in = tls_helper_in(h);
    memcpy(in, host->name, host->len);
    memcpy(in + host->len, data, n);
    if (!t || !tls_helper_call(h, &c, &r) || !r.created) {
        free(t);
        return NULL;
    }
    *t = (struct tls_end){.helper = h, .number = r.number, .after = TLS_MORE};
    t->accepted = c.op == TLS_ACCEPT;
    t->settled = note(t, &r) == TLS_MORE;
    return t;
}

struct tls_end *tls_end_accept(struct tls_helper *h, const struct peer *host, const void *data,
                               size_t n)
{
    return new_end(h, (struct tls_call){.op = TLS_ACCEPT}, host, data, n);
}

struct tls_end *tls_end_connect(struct tls_helper *h, const struct peer *host, unsigned protocols)
{
    return new_end(h, (struct tls_call){.op = TLS_CONNECT, .protocols = (uint8_t)protocols}, host,
                   "", 0);
}

void tls_end_free(struct tls_end *t)
{
    if (!t)
        return;
    struct tls_helper *h = t->helper;
    struct tls_reply ignored;
    tls_helper_forget(h, t);
    if (h->nfreed == TLS_FREED)
        tls_helper_call(h, &(struct tls_call){.op = TLS_FREE}, &ignored);
    if (!h->gone)
        h->freed[h->nfreed++] = t->number;
    queue_free(&t->in);
    queue_free(&t->out);
    queue_free(&t->plain);
    free(t);
}

bool tls_end_feed(struct tls_end *t, const void *data, size_t n)
{
    t->settled = false;
    return n <= TLS_AREA - queue_size(&t->in) && queue_add(&t->in, data, n) == 0;
}

enum tls_result tls_end_shake(struct tls_end *t)
{
    struct tls_call c = {.op = TLS_SHAKE, .answered = t->answered, .protocols = t->protocol};
    struct tls_reply r;
    if (t->failed || t->settled)
        return t->failed ? TLS_FAILED : TLS_MORE;
    c.want = t->accepted ? TLS_AREA / 2 : 0; /* a server does not speak first */
    enum tls_result result = call_with(t, c, &r) ? note(t, &r) : TLS_FAILED;
    t->settled = result == TLS_MORE;
    if (result != TLS_DONE)
        return result;
    /* bytes may have come along */
    return tls_end_note_read(t, &r, t->helper->areas->plain, c.want);
}

bool tls_end_is_asking(const struct tls_end *t)
{
    return t->asking && !t->answered;
}

unsigned tls_end_offered(const struct tls_end *t)
{
    return t->offered;
}

bool tls_end_offers_others(const struct tls_end *t)
{
    return t->others && !t->offered;
}

void tls_end_answer(struct tls_end *t, unsigned protocol)
{
    t->answered = true;
    t->settled = false;
    t->protocol = (uint8_t)protocol;
}

unsigned tls_end_chosen(const struct tls_end *t)
{
    return t->chosen;
}

/* Copies what was read and not taken yet. Returns whether there was any. */
static bool take_plain(struct tls_end *t, char *out, size_t n, size_t *got)
{
    size_t kept = queue_size(&t->plain), there = kept ? kept : t->shown_plain.n;
    *got = there < n ? there : n;
    if (*got == 0)
        return false;
    memcpy(out, kept ? queue_data(&t->plain) : t->shown_plain.at, *got);
    if (kept) {
        queue_take(&t->plain, *got);
    } else {
        t->shown_plain.at += *got;
        t->shown_plain.n -= *got;
    }
    t->passed -= *got < t->passed ? *got : t->passed;
    return true;
}

static bool has_nothing(const struct tls_end *t)
{
    return t->failed || (queue_size(&t->in) == 0 && t->after != TLS_DONE);
}

bool tls_end_is_idle(const struct tls_end *t)
{
    return has_nothing(t) && !t->failed && queue_size(&t->plain) == 0 && t->shown_plain.n == 0;
}

bool tls_end_has_failed(const struct tls_end *t)
{
    return t->failed;
}

bool tls_end_was_passed(const struct tls_end *t)
{
    return t->passed != 0;
}

/* Takes over a read's result, and copies what was read. */
static enum tls_result take(struct tls_end *t, const struct tls_reply *r, char *out, uint32_t want,
                            size_t *got)
{
    enum tls_result result = tls_end_note_read(t, r, t->helper->areas->plain, want);
    if (result != TLS_FAILED)
        take_plain(t, out, want, got);
    return result;
}

enum tls_result tls_end_read(struct tls_end *t, char *out, size_t n, size_t *got)
{
    struct tls_reply r;
    uint32_t want = n < TLS_AREA ? (uint32_t)n : TLS_AREA;
    if (!t->failed && take_plain(t, out, n, got))
        return TLS_DONE;
    *got = 0;
    if (has_nothing(t))
        return t->after;
    if (!call_with(t, (struct tls_call){.op = TLS_READ, .want = want}, &r) ||
        note(t, &r) == TLS_FAILED)
        return TLS_FAILED;
    return take(t, &r, out, want, got);
}

enum tls_result tls_end_pass(struct tls_end *t, struct tls_end *to, char *out, size_t n,
                             size_t *got)
{
    struct tls_reply r;
    struct tls_call c = {.op = TLS_PASS, .to = to->number};
    bool passed = t->passed != 0;
    c.want = n < TLS_AREA / 2 ? (uint32_t)n : TLS_AREA / 2;
    if (!t->failed && !to->failed && take_plain(t, out, passed ? n : c.want, got))
        return passed || tls_end_write(to, out, *got) ? TLS_DONE : tls_end_fail(t);
    *got = 0;
    if (has_nothing(t) || to->failed)
        return to->failed ? tls_end_fail(t) : t->after;
    if (!call_with(t, c, &r) || note(r.nplain ? to : t, &r) == TLS_FAILED)
        return tls_end_fail(t);
    return take(t, &r, out, c.want, got);
}

bool tls_end_write(struct tls_end *t, const void *data, size_t n)
{
    struct tls_call c = {.op = TLS_WRITE, .number = t->number, .n = (uint32_t)n};
    struct tls_reply r;
    if (t->failed || n == 0 || n > TLS_AREA / 2)
        return n == 0;
    char *in = tls_helper_in(t->helper);
    if (t->failed)
        return false;
    memcpy(in, data, n);
    return (tls_helper_call(t->helper, &c, &r) ? note(t, &r) : tls_end_fail(t)) == TLS_DONE;
}

void tls_end_close(struct tls_end *t)
{
    const struct tls_call c = {.op = TLS_END, .number = t->number};
    struct tls_reply r;
    if (t->failed)
        return;
    tls_helper_in(t->helper);
    if (tls_helper_call(t->helper, &c, &r))
        note(t, &r);
}

const char *tls_end_output(struct tls_end *t, size_t *n)
{
    struct tls_shown *o = &t->shown_out;
    bool kept = queue_size(&t->out) != 0;
    if (kept && o->n) {
        if (queue_add(&t->out, o->at, o->n) < 0)
            tls_end_fail(t);
        *o = (struct tls_shown){0};
    }
    *n = kept ? queue_size(&t->out) : o->n;
    return kept ? queue_data(&t->out) : o->at;
}

void tls_end_sent(struct tls_end *t)
{
    queue_free(&t->out);
    t->shown_out = (struct tls_shown){0};
}

const char *tls_end_wrong(const struct tls_end *t)
{
    return t->wrong;
}

void tls_end_alert(const struct tls_end *server, uint8_t out[TLS_ALERT])
{
    enum { FAILURE = 40 };
    const uint8_t alert[TLS_ALERT] = {21, 3, 3, 0, 2, 2, server->alert ? server->alert : FAILURE};
    memcpy(out, alert, sizeof(alert));
}
