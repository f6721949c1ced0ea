/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Calls of buckle-tls, one at a time. A call costs two changes of process, so what several
 * connections have to read or write is collected as jobs, and done by one call. If the other
 * process dies, does not answer in time, or says what cannot be, all its ends have failed; a job
 * that fails is only the trouble of its end.
 */

#include "net/tls-helper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_S = 10, LOOK_MS = 100 /* whether it still exists */ };

/* ---- calls ---- */

static bool lose(struct tls_helper *h)
{
    h->gone = true;
    return false;
}

static bool is_sane(const struct tls_reply *r)
{
    return r->nplain <= TLS_AREA && r->nout <= TLS_OUT && r->result <= TLS_FAILED &&
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

bool tls_helper_call(struct tls_helper *h, const struct tls_call *call, struct tls_reply *r)
{
    ssize_t n;
    struct tls_call c = *call;
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

/* ---- jobs ---- */

/* Keeps what is still in the areas: a call is about to write there. */
static void keep_shown(struct tls_helper *h)
{
    for (uint32_t i = 0; i < h->nshown; i++) {
        struct tls_end *t = h->shown[i];
        if (!t)
            continue;
        if (queue_add(&t->plain, t->shown_plain.at, t->shown_plain.n) < 0 ||
            queue_add(&t->out, t->shown_out.at, t->shown_out.n) < 0)
            tls_end_fail(t);
        t->shown_plain = t->shown_out = (struct tls_shown){0};
    }
    h->nshown = 0;
}

/* reply: NULL if there is none. */
static void end_job(const struct tls_job *job, struct tls_end *t, struct tls_end *to,
                    const struct tls_reply *r, const char *plain, const char *out)
{
    bool passes = job->op == TLS_PASS && r && r->nplain;
    if (!r || (passes && !to)) {
        if (t)
            tls_end_fail(t);
        return;
    }
    enum tls_result noted = passes ? tls_end_note(to, r, out) : TLS_DONE;
    if (!t)
        return;
    if (noted == TLS_FAILED) {
        tls_end_fail(t);
        return;
    }
    if (!passes)
        noted = tls_end_note(t, r, out);
    if (job->op != TLS_WRITE && noted != TLS_FAILED &&
        tls_end_note_read(t, r, plain, job->want) != TLS_FAILED && passes)
        t->passed = r->nplain;
}

/* Whether all replies fit into the areas together. */
static bool are_sane(const struct tls_reply *r, uint32_t n)
{
    size_t plain = 0, out = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_sane(&r[i]))
            return false;
        plain += r[i].nplain;
        out += r[i].nout;
    }
    return plain <= TLS_AREA && out <= TLS_OUT;
}

void tls_helper_settle(struct tls_helper *h)
{
    struct tls_reply replies[TLS_JOBS], whole;
    uint32_t n = h->njobs;
    const struct tls_call c = {.op = TLS_BATCH, .n = h->nin, .njobs = n};
    size_t plain = 0, out = 0;
    if (!n)
        return;
    keep_shown(h);
    h->njobs = h->nin = 0;
    memcpy(h->areas->jobs, h->jobs, n * sizeof(h->jobs[0]));
    bool fine = tls_helper_call(h, &c, &whole) && whole.result == TLS_DONE;
    if (fine)
        memcpy(replies, h->areas->replies, n * sizeof(replies[0]));
    if (fine && !are_sane(replies, n))
        fine = lose(h);
    for (uint32_t i = 0; i < n; i++) {
        end_job(&h->jobs[i], h->ends[i], h->to[i], fine ? &replies[i] : NULL,
                h->areas->plain + plain, h->areas->out + out);
        plain += fine ? replies[i].nplain : 0;
        out += fine ? replies[i].nout : 0;
    }
}

char *tls_helper_in(struct tls_helper *h)
{
    tls_helper_settle(h);
    keep_shown(h);
    return h->areas->in;
}

static void add_job(struct tls_helper *h, const struct tls_job *job, struct tls_end *t,
                    struct tls_end *to)
{
    h->jobs[h->njobs] = *job;
    h->ends[h->njobs] = t;
    h->to[h->njobs++] = to;
    h->nin += job->n;
}

char *tls_end_room(const struct tls_end *t, size_t *n)
{
    enum { LEAST = 16 << 10 };
    struct tls_helper *h = t->helper;
    *n = TLS_AREA - h->nin;
    return tls_end_is_idle(t) && h->njobs < TLS_JOBS && *n >= LEAST ? h->areas->in + h->nin : NULL;
}

void tls_end_read_later(struct tls_end *t, struct tls_end *to, size_t n)
{
    const struct tls_job job = {.op = to ? TLS_PASS : TLS_READ,
                                .number = t->number,
                                .to = to ? to->number : 0,
                                .n = (uint32_t)n,
                                .want = TLS_AREA};
    add_job(t->helper, &job, t, to);
}

bool tls_end_write_later(struct tls_end *t, const void *data, size_t n)
{
    struct tls_helper *h = t->helper;
    const struct tls_job job = {.op = TLS_WRITE, .number = t->number, .n = (uint32_t)n};
    if (t->failed || n == 0 || n > TLS_AREA / 2)
        return n == 0;
    if (h->njobs == TLS_JOBS || n > TLS_AREA - h->nin)
        tls_helper_settle(h);
    memcpy(h->areas->in + h->nin, data, n);
    add_job(h, &job, t, NULL);
    return !t->failed;
}

void tls_helper_forget(struct tls_helper *h, const struct tls_end *t)
{
    for (uint32_t i = 0; i < h->njobs; i++) {
        h->ends[i] = h->ends[i] == t ? NULL : h->ends[i];
        h->to[i] = h->to[i] == t ? NULL : h->to[i];
    }
    for (uint32_t i = 0; i < h->nshown; i++)
        h->shown[i] = h->shown[i] == t ? NULL : h->shown[i];
}

/* ---- the process ---- */

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
    bool answers = tls_helper_call(h, &c, &r);
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
