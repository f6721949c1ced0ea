/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Questions to the user, on the gate's side. Each host and port has at most one open question; all
 * connections to it wait for the same answer. A waiting connection keeps the bytes it has read and
 * reads no more. When the answer arrives, it repeats its last step and finds the answer in this
 * table.
 *
 * Name lookups don't wait. A name that only the user could allow gets an address like any other;
 * the question follows when the command connects. The table has a fixed size: old denials make room
 * for new questions, allowed hosts stay.
 */

#include "net/gate-ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "graph/net.h"
#include "net/consent.h"
#include "net/packets.h"

enum {
    ASKED_MAX = 256,         /* hosts and ports to remember */
    OPEN_MAX = 32,           /* of them, waiting for an answer */
    TIMEOUT_KEPT_MS = 10000, /* after a timeout, don't ask again for this long */
};

struct asked {
    uint32_t id;    /* 0: unused */
    uint8_t answer; /* enum consent; 0: none yet */
    uint16_t port, proto;
    uint32_t waiting;  /* connections and flows */
    uint64_t until_ms; /* deadline for the answer, or when to forget it; 0: never */
    uint64_t answered_ms;
    struct peer host;
};

struct asking {
    struct watch watch; /* the socket that answers come from */
    struct gate *gate;
    uint32_t last_id;
    size_t nopen;
    bool closed; /* ask no more questions */
    uint8_t why; /* the answer that ended them */
    struct asked all[ASKED_MAX];
};

/* ---- the table ---- */

static struct asked *find_question(struct asking *a, const struct peer *host, uint16_t port,
                                   uint16_t proto)
{
    for (size_t i = 0; i < ASKED_MAX; i++) {
        struct asked *q = &a->all[i];
        if (q->id && q->port == port && q->proto == proto && peer_equal(&q->host, host))
            return q;
    }
    return NULL;
}

static struct asked *find_id(struct asking *a, uint32_t id)
{
    for (size_t i = 0; id && i < ASKED_MAX; i++)
        if (a->all[i].id == id)
            return &a->all[i];
    return NULL;
}

static bool is_allowed(const struct asked *q)
{
    return q->answer == CONSENT_ONCE || q->answer == CONSENT_RUN || q->answer == CONSENT_ALWAYS;
}

/* A free entry, or the oldest denial; NULL if all are allowed or waiting. */
static struct asked *make_room(struct asking *a)
{
    struct asked *oldest = NULL;
    for (size_t i = 0; i < ASKED_MAX; i++) {
        struct asked *q = &a->all[i];
        if (!q->id)
            return q;
        if (q->answer && !is_allowed(q) && (!oldest || q->answered_ms < oldest->answered_ms))
            oldest = q;
    }
    return oldest;
}

/* ---- answers ---- */

static void send_question(const struct asking *a, const struct asked *q,
                          const struct gate_client *who)
{
    struct gate_question out = {.id = q->id, .withdrawn = !who};
    if (who) {
        out.host = &q->host;
        out.port = q->port;
        out.udp = q->proto == NET_UDP;
        out.wait_ms = a->gate->o->ask_ms;
        out.client = *who;
    }
    a->gate->o->on_question(a->gate->o->arg, &out);
}

/* Repeats the last step of all that wait for this question. */
static void resume_waiting(struct gate *g, uint32_t id)
{
    for (struct conn *c = g->conns, *next; c; c = next) {
        next = c->next;
        if (c->asked != id)
            continue;
        c->asked = 0;
        conn_pump(c);
    }
    if (g->o->packets)
        g->o->packets->answered(g, id);
}

static void record_answer(struct asking *a, struct asked *q, enum consent answer)
{
    struct gate *g = a->gate;
    uint32_t id = q->id;
    q->answer = (uint8_t)answer;
    q->answered_ms = g->loop.now_ms;
    q->until_ms = answer == CONSENT_TIMEOUT ? g->loop.now_ms + TIMEOUT_KEPT_MS : 0;
    g->sweeps |= q->until_ms != 0;
    q->waiting = 0;
    a->nopen--;
    if (answer == CONSENT_DENY_ALL || answer == CONSENT_NOBODY) {
        a->closed = true;
        a->why = (uint8_t)answer;
    }
    resume_waiting(g, id);
    if (answer == CONSENT_ONCE)
        q->id = 0;
}

/* Used when the answering side has gone or refuses further questions. */
static void record_all(struct asking *a, enum consent answer)
{
    for (size_t i = 0; i < ASKED_MAX; i++)
        if (a->all[i].id && !a->all[i].answer)
            record_answer(a, &a->all[i], answer);
}

static void on_replies(struct watch *w, unsigned what)
{
    struct asking *a = (struct asking *)w;
    char bytes[sizeof(struct consent_reply) + 1];
    struct consent_reply r;
    (void)what;
    for (int i = 0; i < OPEN_MAX; i++) {
        ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0)
            return;
        if (n == 0) {
            a->closed = true;
            a->why = CONSENT_NOBODY;
            loop_remove(&a->gate->loop, w);
            record_all(a, CONSENT_NOBODY);
            return;
        }
        struct asked *q = consent_reply_read(bytes, (size_t)n, &r) ? find_id(a, r.id) : NULL;
        if (!q || q->answer)
            continue; /* too late */
        record_answer(a, q, (enum consent)r.answer);
        if (a->closed)
            record_all(a, (enum consent)r.answer);
    }
}

/* ---- questions ---- */

static struct asked *open_question(struct asking *a, const struct peer *host, uint16_t port,
                                   uint16_t proto, const struct gate_client *who)
{
    struct asked *q = a->nopen < OPEN_MAX ? make_room(a) : NULL;
    if (!q)
        return NULL;
    *q = (struct asked){.port = port, .proto = proto, .host = *host};
    q->id = ++a->last_id ? a->last_id : ++a->last_id;
    q->until_ms = a->gate->loop.now_ms + a->gate->o->ask_ms;
    a->gate->sweeps = true;
    a->nopen++;
    send_question(a, q, who);
    return q;
}

bool gate_ask_could(struct gate *g, const struct peer *host, const struct graph_verdict *v)
{
    return g->asking && !v->allow && !rules_explicit(&g->rules, v) && !peer_is_localhost(host) &&
           !(host->address && dialer_special(&g->dialer, host->addr));
}

enum may gate_ask_may(struct gate *g, const struct gate_client *who, const struct peer *host,
                      uint16_t port, uint16_t proto, uint32_t *id, const char **why)
{
    struct asking *a = g->asking;
    struct asked *q = find_question(a, host, port, proto);
    if (!q && a->closed) {
        *why = consent_reason((enum consent)a->why);
        return MAY_NOT;
    }
    if (!q && !(q = open_question(a, host, port, proto, who))) {
        *why = "too many questions are waiting for the user";
        return MAY_NOT;
    }
    if (!q->answer) {
        q->waiting++;
        *id = q->id;
        return MAY_LATER;
    }
    *why = consent_reason((enum consent)q->answer);
    return is_allowed(q) ? MAY : MAY_NOT;
}

void gate_ask_leave(struct gate *g, uint32_t id)
{
    struct asked *q = g->asking ? find_id(g->asking, id) : NULL;
    if (!q || q->answer || --q->waiting)
        return;
    send_question(g->asking, q, NULL);
    q->id = 0;
    g->asking->nopen--;
}

void gate_ask_sweep(struct gate *g)
{
    struct asking *a = g->asking;
    for (size_t i = 0; a && i < ASKED_MAX; i++) {
        struct asked *q = &a->all[i];
        g->sweeps |= q->id && q->until_ms;
        if (!q->id || !q->until_ms || g->loop.now_ms < q->until_ms)
            continue;
        if (q->answer) {
            q->id = 0;
            continue;
        }
        send_question(a, q, NULL);
        record_answer(a, q, CONSENT_TIMEOUT);
    }
}

/* ---- setup and teardown ---- */

int gate_ask_begin(struct gate *g)
{
    if (!g->o->on_question || g->o->answers < 0)
        return 0;
    struct asking *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->gate = g;
    a->watch = (struct watch){g->o->answers, on_replies};
    g->asking = a;
    return loop_add(&g->loop, &a->watch, true);
}

void gate_ask_end(struct gate *g)
{
    if (g->asking)
        loop_remove(&g->loop, &g->asking->watch);
    free(g->asking);
    g->asking = NULL;
}
