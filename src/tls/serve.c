/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The gate's calls, answered one by one. Nothing here waits for anything but the next call: for a
 * moment in the memory that both share, then as a packet.
 */

#include "tls/serve.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/own.h"
#include "net/tls-turn.h"
#include "tls/tls.h"

enum { ENDS_MAX = 1 << 17, WATCH_MS = 20 };

struct server {
    struct tls_areas *areas;
    struct tls_engine *engine;
    struct tls **ends; /* by number; NULL: free */
    uint32_t nends, next;
    struct {
        char *in, *plain, *out;
        uint32_t room, out_room;     /* of plain and out */
    } at;                            /* of this job in the areas */
    uint32_t processor, seen, times; /* ours; the gate's lately, and how often in a row */
};

/* ---- processors ---- */

/* The gate waits while we work, so the two never need two processors. On the gate's own, a call
 * costs a switch; another one would have to be woken for it. A gate that is moved back and forth is
 * not followed. */
static void follow(struct server *s, uint32_t processor)
{
    enum { SETTLED = 8 };
    cpu_set_t only;
    s->times = processor == s->seen ? s->times + 1 : 1;
    s->seen = processor;
    if (!processor || processor > CPU_SETSIZE || processor == s->processor || s->times < SETTLED)
        return;
    s->processor = processor; /* if it cannot be: no second attempt */
    CPU_ZERO(&only);
    CPU_SET(processor - 1, &only);
    sched_setaffinity(0, sizeof(only), &only);
}

/* ---- numbers ---- */

static bool keep(struct server *s, struct tls *t, uint32_t *number)
{
    while (s->next < s->nends && s->ends[s->next])
        s->next++;
    if (s->next == s->nends) {
        uint32_t more = s->nends ? s->nends * 2 : 64;
        struct tls **grown = more > ENDS_MAX ? NULL : realloc(s->ends, more * sizeof(*grown));
        if (!grown)
            return false;
        memset(grown + s->nends, 0, (more - s->nends) * sizeof(*grown));
        s->ends = grown;
        s->nends = more;
    }
    s->ends[s->next] = t;
    *number = s->next++;
    return true;
}

static struct tls *end_of(const struct server *s, uint32_t number)
{
    return number < s->nends ? s->ends[number] : NULL;
}

static void forget(struct server *s, uint32_t number)
{
    struct tls *t = end_of(s, number);
    if (!t)
        return;
    tls_free(t);
    s->ends[number] = NULL;
    if (number < s->next)
        s->next = number;
}

/* ---- calls ---- */

static enum tls_result begin(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    const struct tls_library *lib = s->engine ? NULL : tls_library_load();
    OWN(buf) struct buf pem = {0}, names = {0};
    buf_add(&names, s->areas->in, c->n);
    if (!lib || !buf_ok(&names))
        return TLS_FAILED;
    struct tls_authority *a = c->want ? tls_authority_read(lib, names.s, names.n)
                                      : tls_authority_new(lib, c->n ? names.s : NULL);
    bytes_wipe(names.s, names.n); /* may be a key */
    bytes_wipe(s->areas->in, c->n);
    if (a && tls_authority_pem(a, &pem) && pem.n <= TLS_AREA)
        s->engine = tls_engine_new(a, lib);
    if (!s->engine) {
        tls_authority_free(a);
        return TLS_FAILED;
    }
    memcpy(s->areas->plain, pem.s, pem.n);
    r->nplain = (uint32_t)pem.n;
    return TLS_DONE;
}

/* As much as is there and fits. */
static enum tls_result read_all(struct server *s, struct tls *t, const struct tls_call *c,
                                struct tls_reply *r)
{
    enum tls_result got = TLS_DONE;
    uint32_t want = c->want < s->at.room ? c->want : s->at.room;
    while (got == TLS_DONE && r->nplain < want) {
        size_t n;
        got = tls_read(t, s->at.plain + r->nplain, want - r->nplain, &n);
        r->nplain += (uint32_t)n;
    }
    r->after = got;
    return r->nplain ? TLS_DONE : got;
}

/* With the last bytes of a handshake, those of a request often come along. */
static enum tls_result shake(struct server *s, struct tls *t, const struct tls_call *c,
                             struct tls_reply *r)
{
    enum tls_result result = tls_handshake(t);
    r->after = tls_has_bytes(t) ? TLS_DONE : TLS_MORE;
    if (result == TLS_DONE && c->want && r->after == TLS_DONE)
        read_all(s, t, c, r);
    return result;
}

static enum tls_result act(struct server *s, struct tls *t, const struct tls_call *c,
                           struct tls_reply *r)
{
    bool feeds = c->op == TLS_SHAKE || c->op == TLS_READ;
    if (feeds && c->n && !tls_feed(t, s->at.in, c->n))
        return TLS_FAILED;
    switch (c->op) {
    case TLS_SHAKE:
        if (c->answered)
            tls_answer(t, c->protocols);
        return shake(s, t, c, r);
    case TLS_READ:
        return read_all(s, t, c, r);
    case TLS_WRITE:
        return tls_write(t, s->at.in, c->n) ? TLS_DONE : TLS_FAILED;
    case TLS_END:
        tls_close(t);
        return TLS_DONE;
    default:
        return TLS_FAILED;
    }
}

static enum tls_result describe(struct server *s, struct tls *t, enum tls_result result,
                                struct tls_reply *r)
{
    size_t n;
    const char *out = tls_output(t, &n);
    r->asking = tls_is_asking(t);
    r->offered = (uint8_t)tls_offered(t);
    r->others = tls_offers_others(t);
    r->chosen = (uint8_t)tls_chosen(t);
    r->alert = result == TLS_FAILED ? tls_alert(t) : 0;
    snprintf(r->wrong, sizeof(r->wrong), "%s", tls_wrong(t));
    if (n > s->at.out_room)
        return TLS_FAILED;
    if (n)
        memcpy(s->at.out, out, n);
    r->nout = (uint32_t)n;
    tls_sent(t);
    return result;
}

static enum tls_result create(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    struct peer host = {.address = c->address};
    if (!s->engine || c->host == 0 || c->host > c->n || c->host >= sizeof(host.name))
        return TLS_FAILED;
    host.len = (__typeof__(host.len))c->host;
    memcpy(host.name, s->areas->in, c->host);
    struct tls *t = c->op == TLS_ACCEPT ? tls_accept(s->engine, &host)
                                        : tls_connect(s->engine, &host, c->protocols);
    if (!t || !keep(s, t, &r->number)) {
        tls_free(t);
        return TLS_FAILED;
    }
    r->created = true;
    if (c->n > c->host && !tls_feed(t, s->areas->in + c->host, c->n - c->host))
        return TLS_FAILED;
    return describe(s, t, shake(s, t, c, r), r);
}

/* What has to be sent to `from` itself waits for the next call. */
static enum tls_result pass(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    struct tls *from = end_of(s, c->number), *to = end_of(s, c->to);
    if (!from || !to || from == to || (c->n && !tls_feed(from, s->at.in, c->n)))
        return TLS_FAILED;
    enum tls_result got = read_all(s, from, c, r);
    if (!r->nplain)
        return describe(s, from, got, r);
    return describe(s, to, tls_write(to, s->at.plain, r->nplain) ? got : TLS_FAILED, r);
}

static void rewind_areas(struct server *s)
{
    struct tls_areas *a = s->areas;
    s->at = (__typeof__(s->at)){a->in, a->plain, a->out, sizeof(a->plain), sizeof(a->out)};
}

static enum tls_result answer_one(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    struct tls *t = end_of(s, c->number);
    if (c->op == TLS_PASS)
        return pass(s, c, r);
    return t ? describe(s, t, act(s, t, c, r), r) : TLS_FAILED;
}

static bool is_job(uint32_t op)
{
    return op == TLS_READ || op == TLS_WRITE || op == TLS_PASS;
}

/* Each job has the bytes after those of the one before. */
static enum tls_result answer_jobs(struct server *s, const struct tls_call *c)
{
    struct tls_job jobs[TLS_JOBS];
    uint32_t in = c->n;
    if (c->njobs > TLS_JOBS)
        return TLS_FAILED;
    memcpy(jobs, s->areas->jobs, c->njobs * sizeof(jobs[0]));
    for (uint32_t i = 0; i < c->njobs; i++) {
        const struct tls_job *job = &jobs[i];
        const struct tls_call one = {
            .op = job->op, .number = job->number, .to = job->to, .n = job->n, .want = job->want};
        struct tls_reply r = {0};
        bool fits = job->n <= in;
        r.result = fits && is_job(job->op) ? answer_one(s, &one, &r) : TLS_FAILED;
        s->areas->replies[i] = r;
        s->at.in += fits ? job->n : in;
        in -= fits ? job->n : in;
        s->at.plain += r.nplain;
        s->at.room -= r.nplain;
        s->at.out += r.nout;
        s->at.out_room -= r.nout;
    }
    return TLS_DONE;
}

static enum tls_result answer(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    switch (c->op) {
    case TLS_BEGIN:
        return begin(s, c, r);
    case TLS_ACCEPT:
    case TLS_CONNECT:
        return create(s, c, r);
    case TLS_BATCH:
        return answer_jobs(s, c);
    default:
        return answer_one(s, c, r);
    }
}

/* ---- waiting ---- */

static void handle(struct server *s, const struct tls_call *c, struct tls_reply *r)
{
    *r = (struct tls_reply){0};
    follow(s, c->processor);
    for (uint32_t i = 0; i < c->nfreed && i < TLS_FREED; i++)
        forget(s, c->freed[i]);
    rewind_areas(s);
    if (c->op != TLS_FREE)
        r->result = answer(s, c, r);
}

/* Answers calls in memory until none has come for a moment. Returns false for one that makes no
 * sense. */
static bool watch(struct server *s)
{
    struct tls_areas *a = s->areas;
    for (;;) {
        uint32_t watched = TLS_WATCHED;
        tls_turn_wait(&a->turn, TLS_WATCHED, WATCH_MS);
        if (atomic_compare_exchange_strong(&a->turn, &watched, TLS_PACKETS))
            return true;
        struct tls_call c = a->call;
        struct tls_reply r;
        if (c.n > TLS_AREA)
            return false;
        handle(s, &c, &r);
        a->reply = r;
        atomic_store(&a->turn, TLS_WATCHED);
        if (atomic_load(&a->sleeps)) /* usually waking us has stopped the gate */
            tls_turn_wake(&a->turn);
    }
}

static bool serve_packet(struct server *s, int sock, const struct tls_call *c)
{
    struct tls_reply r;
    handle(s, c, &r);
    /* before the gate has the reply and calls again */
    bool quick = atomic_load(&s->areas->quick);
    if (quick)
        atomic_store(&s->areas->turn, TLS_WATCHED);
    if (c->op != TLS_FREE && send(sock, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r))
        return false;
    return !quick || watch(s);
}

int tls_serve(int sock, struct tls_areas *areas)
{
    struct server s = {.areas = areas};
    struct tls_call c;
    ssize_t n;
    while ((n = recv(sock, &c, sizeof(c), 0)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n != sizeof(c) || c.n > TLS_AREA || !serve_packet(&s, sock, &c))
            return -1;
    }
    for (uint32_t i = 0; i < s.nends; i++)
        tls_free(s.ends[i]);
    free(s.ends);
    tls_engine_free(s.engine);
    return 0;
}
