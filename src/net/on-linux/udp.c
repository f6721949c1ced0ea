/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Datagrams. A flow is what one socket of the command sends to one address and port. The gate
 * checks it once, by the name behind the address, and gives it a socket outside that receives from
 * that host only. Replies go back as if they came from the original destination. A denied flow is
 * reported once and answered with "port unreachable".
 *
 * The table has a fixed size; the flow that was silent longest makes room. Datagrams may get lost
 * on any network, so those without room here are dropped.
 */

#include "net/udp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "graph/net.h"
#include "net/gate-ask.h"

enum {
    FLOWS = 1024, /* a power of two */
    NONE = FLOWS,
    IDLE_MS = 120000,
    DENIED_MS = 5000,       /* before the same denial is reported again */
    WAITING_MAX = 68 << 10, /* queued during the lookup: room for one of maximum size */
    WAITING_ALL = 4 << 20,  /* for all flows */
    AT_ONCE = 64,
    DATAGRAM_MAX = 65535 - 8 - 20,
};

struct flow {
    struct watch watch; /* connected to the host; -1 during the lookup */
    struct gate *gate;
    uint16_t next; /* in the same hash chain; NONE: last */
    bool used, denied;
    struct flow_key key;
    struct dial *dial;
    uint32_t asked;       /* the pending question; 0: none */
    int local;            /* the listener of a port of the host's loopback, or -1 */
    struct queue waiting; /* datagrams, each with its length in front */
    uint64_t active_ms;
};

struct flows {
    uint16_t heads[FLOWS];
    size_t waiting; /* bytes queued in all flows */
    struct flow all[FLOWS];
};

/* ---- the table ---- */

static uint16_t hash_key(const struct flow_key *k)
{
    const uint8_t *bytes = (const uint8_t *)k;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof(*k); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (uint16_t)((hash ^ hash >> 32) & (FLOWS - 1));
}

static struct flows *flows_of(struct gate *g)
{
    if (g->flows)
        return g->flows;
    g->flows = calloc(1, sizeof(*g->flows));
    for (size_t i = 0; g->flows && i < FLOWS; i++)
        g->flows->heads[i] = NONE;
    return g->flows;
}

static void drop_waiting(struct flow *f)
{
    f->gate->flows->waiting -= queue_size(&f->waiting);
    queue_free(&f->waiting);
}

static void flow_end(struct flow *f)
{
    struct flows *t = f->gate->flows;
    uint16_t *link = &t->heads[hash_key(&f->key)], me = (uint16_t)(f - t->all);
    while (*link != me)
        link = &t->all[*link].next;
    *link = f->next;
    dial_cancel(f->dial);
    if (f->asked)
        gate_ask_leave(f->gate, f->asked);
    loop_remove(&f->gate->loop, &f->watch);
    drop_waiting(f);
    f->used = false;
}

static struct flow *flow_find(struct flows *t, const struct flow_key *k)
{
    uint16_t at = t->heads[hash_key(k)];
    while (at != NONE && memcmp(&t->all[at].key, k, sizeof(*k)) != 0)
        at = t->all[at].next;
    return at == NONE ? NULL : &t->all[at];
}

static struct flow *make_room(struct flows *t)
{
    struct flow *oldest = &t->all[0];
    for (size_t i = 0; i < FLOWS; i++) {
        if (!t->all[i].used)
            return &t->all[i];
        if (t->all[i].active_ms < oldest->active_ms)
            oldest = &t->all[i];
    }
    flow_end(oldest);
    return oldest;
}

static void on_answers(struct watch *w, unsigned what);

static struct flow *flow_new(struct gate *g, const struct flow_key *k, int local)
{
    struct flow *f = make_room(g->flows);
    uint16_t *head = &g->flows->heads[hash_key(k)];
    *f = (struct flow){
        .watch = {-1, on_answers}, .gate = g, .used = true, .key = *k, .local = local};
    f->next = *head;
    f->active_ms = g->loop.now_ms;
    g->sweeps = true;
    *head = (uint16_t)(f - g->flows->all);
    return f;
}

void udp_sweep(struct gate *g)
{
    for (size_t i = 0; g->flows && i < FLOWS; i++) {
        struct flow *f = &g->flows->all[i];
        if (f->used && g->loop.now_ms - f->active_ms >= (f->denied ? DENIED_MS : IDLE_MS))
            flow_end(f);
        g->sweeps |= f->used;
    }
}

void udp_end(struct gate *g)
{
    for (size_t i = 0; g->flows && i < FLOWS; i++)
        if (g->flows->all[i].used)
            flow_end(&g->flows->all[i]);
    free(g->flows);
    g->flows = NULL;
}

/* ---- towards the command ---- */

static void send_answer(const struct flow *f, const char *data, size_t n)
{
    struct sockaddr_storage to;
    if (f->local < 0) {
        datagram_answer(f->gate, &f->key, data, n);
        return;
    }
    socklen_t len = addr_to_sockaddr(f->key.client, f->key.client_port, &to);
    sendto(f->local, data, n, MSG_NOSIGNAL, (struct sockaddr *)&to, len);
}

static void on_answers(struct watch *w, unsigned what)
{
    struct flow *f = (struct flow *)w;
    struct gate *g = f->gate;
    (void)what;
    for (int i = 0; i < AT_ONCE; i++) {
        ssize_t n = recv(w->fd, g->scratch, sizeof(g->scratch), 0);
        if (n < 0 && errno == ECONNREFUSED)
            datagram_refuse(g, &f->key);
        if (n < 0)
            return;
        f->active_ms = g->loop.now_ms;
        if (n <= DATAGRAM_MAX)
            send_answer(f, g->scratch, (size_t)n);
    }
}

/* ---- towards the host ---- */

static struct gate_client client_of(const struct flow_key *k)
{
    struct gate_client c = {.port = k->client_port};
    memcpy(c.addr, k->client, sizeof(c.addr));
    return c;
}

static void deny_flow(struct flow *f, const struct peer *host, struct graph_verdict v,
                      const char *why)
{
    struct gate_denial d = {.host = host,
                            .port = f->key.port,
                            .udp = true,
                            .verdict = v,
                            .why = why,
                            .client = client_of(&f->key)};
    d.verdict.allow = false;
    f->denied = true;
    loop_remove(&f->gate->loop, &f->watch);
    drop_waiting(f);
    gate_deny(f->gate, &d);
    datagram_refuse(f->gate, &f->key);
}

static void send_waiting(struct flow *f)
{
    uint16_t n;
    for (size_t at = f->waiting.from; at < f->waiting.to; at += sizeof(n) + n) {
        memcpy(&n, f->waiting.data + at, sizeof(n));
        send(f->watch.fd, f->waiting.data + at + sizeof(n), n, MSG_NOSIGNAL);
    }
    drop_waiting(f);
}

/* Queues a datagram until the lookup ends; drops it if it doesn't fit. */
static void keep_waiting(struct flow *f, const uint8_t *data, size_t n)
{
    struct flows *t = f->gate->flows;
    uint16_t len = (uint16_t)n;
    size_t had = queue_size(&f->waiting), more = sizeof(len) + n;
    if (had + more > WAITING_MAX || t->waiting + more > WAITING_ALL)
        return;
    if (queue_add(&f->waiting, &len, sizeof(len)) == 0 && queue_add(&f->waiting, data, n) == 0)
        t->waiting += more;
    else
        f->waiting.to = f->waiting.from + had;
}

static void on_dialled(void *arg, const struct dial_end *end)
{
    struct flow *f = arg;
    struct gate *g = f->gate;
    struct peer host;
    char place[DIAL_REASON];
    f->dial = NULL;
    if (end->made) {
        f->watch.fd = end->made->fd;
        loop_forget(&g->loop, end->made);
        if (loop_add(&g->loop, &f->watch, true) == 0)
            send_waiting(f);
        else
            flow_end(f);
        return;
    }
    gate_host_of(g, f->key.to, &host);
    if (end->why) {
        dial_reason(end, place);
        deny_flow(f, &host, rules_ask(&g->rules, &host, f->key.port, NET_UDP), place);
        return;
    }
    datagram_refuse(g, &f->key);
    flow_end(f);
}

/* The first packet of QUIC. The server name in it is encrypted and could be any on the same server.
 * Refused clients fall back to TCP, where the name is readable. */
static bool is_quic(const uint8_t *data, size_t n)
{
    static const uint32_t one = 0x00000001, two = 0x6b3343cf, drafts = 0xff000000;
    if (n < 5 || (data[0] & 0xc0) != 0xc0)
        return false;
    uint32_t version =
        (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 8 | data[4];
    return version == one || version == two || (version & 0xffffff00) == drafts;
}

/* Whether the flow is allowed; reports it if not. */
static enum may flow_may(struct flow *f, const struct peer *host)
{
    struct gate *g = f->gate;
    struct gate_client who = client_of(&f->key);
    const char *why = NULL;
    struct graph_verdict v = rules_ask(&g->rules, host, f->key.port, NET_UDP);
    enum may may = v.allow ? MAY : MAY_NOT;
    if (g->o->parents && g->o->parents->required && f->local < 0) {
        may = MAY_NOT;
        why = v.allow ? "datagrams can't go through the parent proxy" : NULL;
    } else if (gate_ask_could(g, host, &v)) {
        may = gate_ask_may(g, &who, host, f->key.port, NET_UDP, &f->asked, &why);
    }
    if (may == MAY_NOT)
        deny_flow(f, host, v, why);
    struct gate_denial d = {
        .host = host, .port = f->key.port, .udp = true, .verdict = v, .client = who};
    if (may == MAY && v.allow && v.flags & VOCAB_FLAG_REPORT)
        gate_deny(g, &d);
    if (may == MAY)
        gate_allow(g, &d);
    return may;
}

/* Checks the flow and dials; false if it is denied or fails. */
static bool flow_start(struct flow *f)
{
    struct gate *g = f->gate;
    struct peer host;
    if (!gate_host_of(g, f->key.to, &host)) {
        deny_flow(f, &host, rules_ask(&g->rules, &host, f->key.port, NET_UDP),
                  "no name has this address");
        return false;
    }
    enum may may = flow_may(f, &host);
    if (may != MAY)
        return may == MAY_LATER;
    enum dial_kind kind = addr_is_v4(f->key.to) ? DIAL_DATAGRAMS4 : DIAL_DATAGRAMS6;
    f->dial = dial_start(&g->dialer, &host, f->key.port, kind, PARENT_OTHER, on_dialled, f);
    if (!f->dial)
        flow_end(f);
    return f->dial;
}

void udp_answered(struct gate *g, uint32_t id)
{
    for (size_t i = 0; g->flows && i < FLOWS; i++) {
        struct flow *f = &g->flows->all[i];
        if (!f->used || f->asked != id)
            continue;
        f->asked = 0;
        flow_start(f);
    }
}

/* Cancels a pending dial or question. */
static void flow_stop(struct flow *f)
{
    dial_cancel(f->dial);
    f->dial = NULL;
    if (f->asked)
        gate_ask_leave(f->gate, f->asked);
    f->asked = 0;
}

/* local: see struct flow. */
static void send_out(struct gate *g, const struct flow_key *k, int local, const uint8_t *data,
                     size_t n)
{
    struct flow *f = flow_find(g->flows, k);
    if (f && f->denied) {
        datagram_refuse(g, k);
        return;
    }
    if (!f && !flow_start(f = flow_new(g, k, local)))
        return;
    f->active_ms = g->loop.now_ms;
    if (is_quic(data, n) && name_address_covers(k->to)) {
        struct peer host;
        gate_host_of(g, k->to, &host);
        flow_stop(f);
        deny_flow(f, &host, rules_ask(&g->rules, &host, k->port, NET_UDP),
                  "QUIC hides the server's name");
    } else if (f->watch.fd >= 0) {
        if (send(f->watch.fd, data, n, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED)
            datagram_refuse(g, k); /* about the previous datagram */
    } else {
        keep_waiting(f, data, n);
    }
}

void udp_datagrams(struct gate *g, int fd)
{
    if (!flows_of(g))
        return;
    for (int i = 0; i < AT_ONCE; i++) {
        struct flow_key k;
        ssize_t n = datagram_receive(fd, g->scratch, sizeof(g->scratch), &k);
        if (n < 0)
            return;
        if (k.client_port && k.port)
            send_out(g, &k, -1, (const uint8_t *)g->scratch, (size_t)n);
    }
}

void udp_local(const struct listener *l)
{
    static const uint8_t loopback[2][16] = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
                                            {[15] = 1}};
    struct gate *g = l->gate;
    for (int i = 0; i < AT_ONCE && flows_of(g); i++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof(from);
        struct flow_key k = {.port = l->port};
        ssize_t n = recvfrom(l->watch.fd, g->scratch, sizeof(g->scratch), 0,
                             (struct sockaddr *)&from, &len);
        if (n < 0)
            return;
        memcpy(k.to, loopback[l->v6], 16);
        if (addr_from_sockaddr(&from, k.client, &k.client_port))
            send_out(g, &k, l->watch.fd, (const uint8_t *)g->scratch, (size_t)n);
    }
}
