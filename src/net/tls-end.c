/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Calls of buckle-tls, one at a time. Encrypted bytes wait here until a call takes them along, and
 * each reply brings what has to be sent, so that a packet costs one call in and one out. If the
 * other process dies, or does not answer in time, all its ends have failed.
 */

#include "net/tls-end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/queue.h"

enum { ANSWER_S = 10, LOOK_MS = 100 /* whether it still exists */ };

struct tls_helper {
    int sock;
    bool gone;
    struct tls_areas *areas;
    struct tls_means means;            /* NULL where there is none */
    uint32_t nfreed, freed[TLS_FREED]; /* ends that the next call gives up */
};

struct tls_end {
    struct tls_helper *helper;
    struct queue in, out;
    struct queue plain; /* what the handshake's last call has read */
    uint32_t number;
    enum tls_result after; /* what a read without new bytes returns */
    bool failed, answered, accepted;
    bool settled; /* without new bytes, another step of the handshake gets no further */
    uint8_t asking, offered, others, chosen, alert, protocol;
    char wrong[TLS_WRONG];
};

/* ---- calls ---- */

static bool lose(struct tls_helper *h)
{
    h->gone = true;
    return false;
}

static bool is_sane(const struct tls_reply *r)
{
    return r->nplain <= TLS_AREA && r->nout <= TLS_AREA && r->result <= TLS_FAILED &&
           r->after <= TLS_FAILED && memchr(r->wrong, 0, sizeof(r->wrong));
}

static bool has_ended(const struct tls_helper *h)
{
    char c;
    return recv(h->sock, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* By the memory. Returns false if the other process is not watching. */
static bool call_quickly(struct tls_helper *h, const struct tls_call *c, struct tls_reply *r)
{
    struct tls_areas *a = h->areas;
    uint32_t watched = TLS_WATCHED;
    if (!h->means.wake || atomic_load(&a->turn) != TLS_WATCHED)
        return false;
    a->call = *c;
    if (!atomic_compare_exchange_strong(&a->turn, &watched, TLS_CALLED))
        return false;
    h->means.wake(&a->turn);
    for (unsigned ms = 0; atomic_load(&a->turn) == TLS_CALLED; ms += LOOK_MS) {
        if (ms >= ANSWER_S * 1000 || (ms && has_ended(h)))
            lose(h);
        if (h->gone)
            return true;
        atomic_store(&a->sleeps, 1);
        h->means.wait(&a->turn, TLS_CALLED, LOOK_MS);
        atomic_store(&a->sleeps, 0);
    }
    *r = a->reply;
    if (c->op != TLS_FREE && !is_sane(r))
        lose(h);
    return true;
}

static bool call(struct tls_helper *h, const struct tls_call *call_for, struct tls_reply *r)
{
    ssize_t n;
    struct tls_call c = *call_for;
    if (h->gone)
        return false;
    c.processor = h->means.processor ? (uint32_t)(h->means.processor() + 1) : 0;
    c.nfreed = h->nfreed;
    memcpy(c.freed, h->freed, h->nfreed * sizeof(c.freed[0]));
    h->nfreed = 0;
    if (call_quickly(h, &c, r))
        return !h->gone;
    while ((n = send(h->sock, &c, sizeof(c), MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    if (n != sizeof(c))
        return lose(h);
    if (c.op == TLS_FREE)
        return true;
    while ((n = recv(h->sock, r, sizeof(*r), 0)) < 0 && errno == EINTR)
        ;
    return (n == sizeof(*r) && is_sane(r)) || lose(h);
}

struct tls_helper *tls_helper_new(int sock, struct tls_areas *areas, const char *names,
                                  const char *authority, struct buf *pem)
{
    const char *in = authority ? authority : names;
    struct timeval limit = {.tv_sec = ANSWER_S};
    struct tls_helper *h = calloc(1, sizeof(*h));
    struct tls_call c = {
        .op = TLS_BEGIN, .n = in ? (uint32_t)strlen(in) : 0, .want = authority != NULL};
    struct tls_reply r;
    if (!h || c.n > TLS_AREA) {
        close(sock);
        munmap(areas, sizeof(*areas));
        free(h);
        errno = ENOMEM;
        return NULL;
    }
    *h = (struct tls_helper){.sock = sock, .areas = areas};
    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (in)
        memcpy(areas->in, in, c.n);
    bool answers = call(h, &c, &r);
    if (answers && r.result == TLS_DONE && r.nplain) {
        buf_add(pem, areas->plain, r.nplain);
        if (buf_ok(pem))
            return h;
    }
    tls_helper_free(h);
    errno = answers ? ENOTSUP : ENOEXEC;
    return NULL;
}

void tls_helper_use(struct tls_helper *h, const struct tls_means *means)
{
    h->means = *means;
    atomic_store(&h->areas->quick, means->wake != NULL);
}

void tls_helper_free(struct tls_helper *h)
{
    if (!h)
        return;
    close(h->sock);
    munmap(h->areas, sizeof(*h->areas));
    free(h);
}

/* ---- one end ---- */

static enum tls_result fail(struct tls_end *t)
{
    if (!t->wrong[0])
        snprintf(t->wrong, sizeof(t->wrong), "the process that encrypts has ended");
    t->failed = true;
    return t->after = TLS_FAILED;
}

/* Takes over what the reply says about this end. */
static enum tls_result note(struct tls_end *t, const struct tls_reply *r)
{
    t->asking = r->asking;
    t->offered = r->offered;
    t->others = r->others;
    t->chosen = r->chosen;
    t->alert = r->alert;
    memcpy(t->wrong, r->wrong, sizeof(t->wrong));
    if (r->nout && queue_add(&t->out, t->helper->areas->out, r->nout) < 0)
        return fail(t);
    if (r->result == TLS_FAILED)
        return fail(t);
    return (enum tls_result)r->result;
}

static bool send_waiting(struct tls_end *t, struct tls_call c, struct tls_reply *r)
{
    c.number = t->number;
    c.n = (uint32_t)queue_size(&t->in);
    memcpy(t->helper->areas->in, queue_data(&t->in), c.n);
    queue_free(&t->in);
    return call(t->helper, &c, r);
}

/* A call with the bytes that wait. */
static enum tls_result call_with(struct tls_end *t, struct tls_call c, struct tls_reply *r)
{
    return send_waiting(t, c, r) ? note(t, r) : fail(t);
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
    memcpy(h->areas->in, host->name, host->len);
    memcpy(h->areas->in + host->len, data, n);
    if (!t || !call(h, &c, &r) || !r.created) {
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
    if (h->nfreed == TLS_FREED)
        call(h, &(struct tls_call){.op = TLS_FREE}, &ignored);
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
    enum tls_result result = call_with(t, c, &r);
    t->settled = result == TLS_MORE;
    if (result != TLS_DONE)
        return result;
    t->after = (enum tls_result)r.after; /* bytes may have come along */
    return r.nplain > c.want || queue_add(&t->plain, t->helper->areas->plain, r.nplain) < 0
               ? fail(t)
               : TLS_DONE;
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

/* Takes of what the handshake has read. Returns whether there was any. */
static bool take_plain(struct tls_end *t, char *out, size_t n, size_t *got)
{
    size_t there = queue_size(&t->plain);
    *got = there < n ? there : n;
    memcpy(out, queue_data(&t->plain), *got);
    if (*got)
        queue_take(&t->plain, *got);
    return *got > 0;
}

static bool has_nothing(const struct tls_end *t)
{
    return t->failed || (queue_size(&t->in) == 0 && t->after != TLS_DONE);
}

/* Copies what was read. */
static enum tls_result take(struct tls_end *t, const struct tls_reply *r, char *out, uint32_t want,
                            size_t *got)
{
    t->after = (enum tls_result)r->after;
    if (r->nplain > want)
        return fail(t);
    memcpy(out, t->helper->areas->plain, r->nplain);
    *got = r->nplain;
    return (enum tls_result)r->result;
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
    call_with(t, (struct tls_call){.op = TLS_READ, .want = want}, &r);
    return t->failed ? TLS_FAILED : take(t, &r, out, want, got);
}

enum tls_result tls_end_pass(struct tls_end *t, struct tls_end *to, char *out, size_t n,
                             size_t *got)
{
    struct tls_reply r;
    struct tls_call c = {.op = TLS_PASS, .to = to->number};
    c.want = n < TLS_AREA / 2 ? (uint32_t)n : TLS_AREA / 2;
    if (!t->failed && !to->failed && take_plain(t, out, c.want, got))
        return tls_end_write(to, out, *got) ? TLS_DONE : fail(t);
    *got = 0;
    if (has_nothing(t) || to->failed)
        return to->failed ? fail(t) : t->after;
    if (!send_waiting(t, c, &r) || note(r.nplain ? to : t, &r) == TLS_FAILED)
        return fail(t);
    return take(t, &r, out, c.want, got);
}

bool tls_end_write(struct tls_end *t, const void *data, size_t n)
{
    struct tls_call c = {.op = TLS_WRITE, .number = t->number, .n = (uint32_t)n};
    struct tls_reply r;
    if (t->failed || n == 0 || n > TLS_AREA / 2)
        return n == 0;
    memcpy(t->helper->areas->in, data, n);
    return (call(t->helper, &c, &r) ? note(t, &r) : fail(t)) == TLS_DONE;
}

void tls_end_close(struct tls_end *t)
{
    struct tls_reply r;
    if (!t->failed && call(t->helper, &(struct tls_call){.op = TLS_END, .number = t->number}, &r))
        note(t, &r);
}

const char *tls_end_output(const struct tls_end *t, size_t *n)
{
    *n = queue_size(&t->out);
    return queue_data(&t->out);
}

void tls_end_sent(struct tls_end *t)
{
    queue_free(&t->out);
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
