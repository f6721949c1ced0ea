/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A connection through the gate: two sockets and the bytes between them. What the other side
 * accepts at once is never stored. What it doesn't accept goes into a small queue, and the gate
 * stops reading the source until that queue drains.
 */

#include "net/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/net.h"
#include "net/decide-body.h"
#include "net/decide-request.h"
#include "net/decider.h"
#include "net/dns-stub.h"
#include "net/gate-announce.h"
#include "net/gate-ask.h"
#include "net/gate-int.h"
#include "net/handling.h"
#include "net/inbound.h"
#include "net/inspect.h"
#include "net/lookup.h"
#include "net/packets.h"
#include "net/plain-http.h"
#include "net/proxy.h"
#include "net/terminate.h"
#include "system/descriptors.h"

enum {
    FULL_US = 5000,            /* pause when the process has no file descriptors left */
    WAITING_BYTES = 256 << 10, /* queued for a slow side before the other is no longer read */
    CONNS_MAX = 16384,
    ACCEPTS = 64, /* at most this many per turn */
};

/* ---- closing ---- */

void conn_close(struct conn *c)
{
    struct gate *g = c->gate;
    if (c->dead)
        return;
    terminate_settle(c);
    c->dead = true;
    dial_cancel(c->dial);
    c->dial = NULL;
    if (c->asked)
        gate_ask_leave(g, c->asked);
    decider_leave(c);
    if (c->state == CONN_DNS)
        lookup_forget(c);
    if (c->inbound)
        inbound_return(c);
    loop_remove(&g->loop, &c->client.watch);
    loop_remove(&g->loop, &c->server.watch);
    queue_free(&c->client.out);
    queue_free(&c->server.out);
    queue_free(&c->in);
    queue_free(&c->answer);
    if (c->prev)
        c->prev->next = c->next;
    else
        g->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    g->nconns--;
    c->next = g->dead;
    g->dead = c;
}

static void forget_busy(struct gate *g)
{
    struct conn **at = &g->busy;
    while (*at)
        if ((*at)->dead)
            *at = (*at)->next_busy;
        else
            at = &(*at)->next_busy;
}

void conn_free_closed(struct gate *g)
{
    if (g->dead)
        forget_busy(g);
    for (struct conn *c = g->dead, *next; c; c = next) {
        next = c->next;
        g->nh2 -= c->h2 ? 1 : 0;
        h2_free(c->h2);
        secrets_flow_free(&c->masked);
        secrets_flow_free(&c->filled);
        decide_forget(c);
        g->nended -= c->client.tls ? 1 : 0;
        tls_end_free(c->client.tls);
        tls_end_free(c->server.tls);
        free(c);
    }
    g->dead = NULL;
}

void conn_reset(struct conn *c)
{
    struct linger now = {1, 0};
    setsockopt(c->client.watch.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    conn_close(c);
}

/* ---- sending ---- */

static void side_fail(struct side *s)
{
    s->ended = s->shut = true;
    s->writable = s->readable = false;
    queue_free(&s->out);
}

static void side_full(struct side *s)
{
    s->writable = false;
    loop_again(&s->conn->gate->loop, &s->watch, LOOP_OUT);
}

static void side_empty(struct side *s)
{
    s->readable = false;
    loop_again(&s->conn->gate->loop, &s->watch, LOOP_IN);
}

/* False if some bytes remain queued. */
static bool side_flush(struct side *s)
{
    while (queue_size(&s->out) && s->writable && s->connected) {
        ssize_t n = send(s->watch.fd, queue_data(&s->out), queue_size(&s->out), MSG_NOSIGNAL);
        if (n > 0)
            queue_take(&s->out, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            side_full(s);
        else if (n < 0 && errno != EINTR)
            side_fail(s);
    }
    return queue_size(&s->out) == 0;
}

void side_send(struct side *s, const void *data, size_t n)
{
    if (s->tls)
        terminate_send(s, data, n);
    else
        side_send_raw(s, data, n);
}

void side_send_raw(struct side *s, const void *data, size_t n)
{
    size_t sent = 0;
    if (s->shut)
        return;
    while (sent < n && s->connected && s->writable && queue_size(&s->out) == 0) {
        ssize_t got = send(s->watch.fd, (const char *)data + sent, n - sent, MSG_NOSIGNAL);
        if (got > 0)
            sent += (size_t)got;
        else if (got < 0 && errno == EAGAIN)
            side_full(s);
        else if (got < 0 && errno != EINTR)
            side_fail(s);
        if (s->shut)
            return;
    }
    if (sent < n && queue_add(&s->out, (const char *)data + sent, n - sent) < 0)
        side_fail(s);
}

/* ---- moving ---- */

static void handle_client_bytes(struct conn *c, const char *data, size_t n)
{
    if (c->state == CONN_RELAY) {
        if (!c->unread || inspect_more(c, data, n))
            side_send(&c->server, data, n);
        return;
    }
    if (c->state == CONN_CLOSING)
        return;
    if (queue_add(&c->in, data, n) < 0)
        side_fail(&c->client);
}

static void handle_server_bytes(struct conn *c, const char *data, size_t n)
{
    if ((c->state == CONN_INSPECT || c->unread) && !inspect_server(c, data, n))
        return;
    if (c->state == CONN_INSPECT &&
        (c->gate->rules.requests || handling_decides(c->gate->o->handling)))
        h2_place_follow(&c->h2_place, (const uint8_t *)data, n);
    if (c->state == CONN_HTTP)
        plain_http_answer(c, data, n);
    else if (c->state == CONN_H2)
        plain_http_h2_answer(c, data, n);
    else
        side_send(&c->client, data, n);
}

void conn_received(struct conn *c, struct side *from, const char *data, size_t n)
{
    if (from == &c->client) {
        c->mute_until_ms = 0;
        handle_client_bytes(c, data, n);
    } else {
        handle_server_bytes(c, data, n);
    }
}

/* Whether there is room for more bytes from this side. */
bool side_may_read(const struct side *from)
{
    const struct conn *c = from->conn;
    const struct side *to = from == &c->client ? &c->server : &c->client;
    if (!from->readable || from->ended || !from->connected || queue_size(&to->out) > WAITING_BYTES)
        return false;
    size_t room = c->wants > HTTP_HEAD_MAX ? c->wants : HTTP_HEAD_MAX;
    return from != &c->client || queue_size(&c->in) < room;
}

static bool may_read_more(const struct conn *c)
{
    return side_may_read(&c->server) || side_may_read(&c->client);
}

/* Other connections need their turn, and the loop won't report these bytes again. */
void conn_pump_later(struct conn *c)
{
    struct gate *g = c->gate;
    if (c->busy)
        return;
    c->busy = true;
    c->next_busy = g->busy;
    g->busy = c;
}

/* How much to read at once: little while the bytes still have to be parsed. */
static size_t read_limit(const struct conn *c, const struct side *from)
{
    return from->tls || (from == &c->client && c->state != CONN_RELAY) ? HTTP_HEAD_MAX
                                                                       : SCRATCH_BYTES;
}

size_t side_receive(struct side *from, char *at, size_t wanted)
{
    ssize_t n;
    while ((n = read(from->watch.fd, at, wanted)) < 0 && errno == EINTR)
        ;
    /* after a part, another read would only return EAGAIN */
    if ((n > 0 && (size_t)n < wanted && !from->last) || (n < 0 && errno == EAGAIN))
        side_empty(from);
    else if (n == 0)
        from->ended = true;
    else if (n < 0)
        side_fail(from);
    return n > 0 ? (size_t)n : 0;
}

static bool read_some(struct conn *c, struct side *from)
{
    char *scratch = c->gate->scratch;
    if (terminate_takes_turns(c))
        return false;
    size_t n = side_receive(from, scratch, read_limit(c, from));
    if (n && from->tls)
        terminate_receive(from, scratch, n);
    else if (n)
        conn_received(c, from, scratch, n);
    return n > 0;
}

static void pass_end(struct conn *c, struct side *from, struct side *to)
{
    bool all = from != &c->client || (queue_size(&c->in) == 0 && !c->deciding);
    if (!from->ended || !all || queue_size(&to->out) || to->shut || !to->connected)
        return;
    if (to->tls && !terminate_end(to))
        return;
    shutdown(to->watch.fd, SHUT_WR);
    to->shut = true;
}

/* The client closed in the middle of a message that the gate has to parse. */
static bool is_cut_off(const struct conn *c)
{
    return c->client.ended && queue_size(&c->in) && c->state != CONN_RELAY && !c->awaiting &&
           !c->dial && !c->asked && !c->deciding;
}

static bool has_ended(const struct conn *c)
{
    bool client_has_all = queue_size(&c->client.out) == 0;
    if (is_cut_off(c))
        return true;
    /* closing while the client still sends would discard the last answer */
    if (c->state == CONN_CLOSING)
        return client_has_all && c->client.ended;
    /* the client closed both directions: no answer can reach it */
    if (c->client.shut && c->client.ended)
        return true;
    if (c->asked || c->deciding)
        return false;
    if (c->server.watch.fd < 0)
        return !c->dial && c->client.ended && client_has_all;
    return c->server.ended && client_has_all && c->client.ended;
}

void conn_limit(struct conn *c, uint64_t ms)
{
    c->deadline_ms = c->gate->loop.now_ms + ms;
    c->gate->sweeps = true;
}

void conn_finish(struct conn *c)
{
    c->state = CONN_CLOSING;
    conn_limit(c, LINGER_MS);
    queue_free(&c->in);
}

/* Shuts down the sending direction once everything is sent. */
static void shut_client(struct conn *c)
{
    if (!c->deadline_ms)
        conn_limit(c, LINGER_MS);
    if (queue_size(&c->client.out) || c->client.shut)
        return;
    if (c->client.tls && !terminate_end(&c->client))
        return;
    shutdown(c->client.watch.fd, SHUT_WR);
    c->client.shut = true;
}

enum { PUMP_ROUNDS = 64 };

void conn_pump(struct conn *c)
{
    bool moved = true;
    for (int i = 0; i < PUMP_ROUNDS && moved && !c->dead; i++) {
        side_flush(&c->client);
        side_flush(&c->server);
        moved = side_may_read(&c->server) && read_some(c, &c->server);
        moved = (!c->dead && side_may_read(&c->client) && read_some(c, &c->client)) || moved;
        if (c->state != CONN_CLOSING && (c->state != CONN_RELAY || queue_size(&c->in)))
            conn_advance(c);
    }
    if (c->dead)
        return;
    if (moved || (terminate_takes_turns(c) && may_read_more(c)))
        conn_pump_later(c);
    if (c->client.ended || c->server.ended || c->state == CONN_CLOSING)
        terminate_settle(c);
    if (c->client.ended && c->mute_until_ms)
        terminate_left(c);
    if (c->server.ended)
        plain_http_answer_ended(c);
    if (c->state == CONN_HTTP && c->server.ended && c->server.watch.fd >= 0 && !c->asked &&
        !c->deciding)
        conn_finish(c);
    if (c->state == CONN_CLOSING)
        shut_client(c);
    if (!has_ended(c)) { /* otherwise closing ends both sides */
        pass_end(c, &c->client, &c->server);
        pass_end(c, &c->server, &c->client);
    }
    if (has_ended(c))
        conn_close(c);
}

void conn_pump_busy(struct gate *g)
{
    struct conn *c = g->busy, *next;
    g->busy = NULL;
    for (; c; c = next) {
        next = c->next_busy;
        c->busy = false;
        if (!c->dead && !terminate_gather(c))
            conn_pump(c);
    }
    terminate_turn(g);
}

static bool begin_known(struct conn *c)
{
    struct gate_verdict v;
    enum may may = gate_check(c, &c->host, c->port, &v);
    if (may == MAY_NOT)
        conn_reset(c);
    if (may != MAY)
        return false;
    c->state = CONN_INSPECT;
    conn_dial(c);
    return false;
}

void conn_advance(struct conn *c)
{
    static bool (*const steps[])(struct conn *) = {
        [CONN_BEGIN] = begin_known,
        [CONN_DNS] = dns_stub_stream,
        [CONN_FIRST] = proxy_first,
        [CONN_SOCKS_LOGIN] = proxy_login,
        [CONN_SOCKS_REQUEST] = proxy_request,
        [CONN_INSPECT] = inspect_client,
        [CONN_TLS] = terminate_step,
        [CONN_HTTP] = plain_http_requests,
        [CONN_H2] = plain_http_h2,
    };
    if (c->shown)
        decide_body_more(c);
    while (!c->dead && !c->asked && !c->deciding && !c->unknown && c->state < CONN_RELAY &&
           steps[c->state](c))
        ;
    /* bytes held back for inspection go first */
    if (!c->dead && c->state == CONN_RELAY && queue_size(&c->in)) {
        side_send(&c->server, queue_data(&c->in), queue_size(&c->in));
        queue_free(&c->in);
    }
}

static void side_note_events(struct side *s, unsigned what)
{
    s->readable = s->readable || (what & LOOP_IN);
    s->writable = s->writable || (what & LOOP_OUT);
    s->last = s->last || (what & LOOP_LAST);
}

static void on_side(struct watch *w, unsigned what)
{
    struct side *s = (struct side *)w;
    side_note_events(s, what);
    if (terminate_takes_turns(s->conn))
        conn_pump_later(s->conn);
    else
        conn_pump(s->conn);
}

/* ---- starting ---- */

void conn_joined(struct conn *c, unsigned what)
{
    c->server.watch.ready = on_side;
    c->server.connected = true;
    c->server.readable = c->server.ended = c->server.shut = c->server.last = false;
    side_note_events(&c->server, what | LOOP_OUT);
    conn_pump(c);
}

static void on_dialled(void *arg, const struct dial_end *end)
{
    struct conn *c = arg;
    c->dial = NULL;
    if (!end->made) {
        proxy_failed(c, end);
        return;
    }
    loop_move(&c->gate->loop, end->made, &c->server.watch);
    proxy_connected(c);
    conn_joined(c, end->what);
}

void conn_dial(struct conn *c)
{
    enum parent_kind asked = !c->proxied             ? PARENT_OTHER
                             : c->state == CONN_HTTP ? PARENT_HTTP
                                                     : PARENT_HTTPS;
    c->dial = dial_start(&c->gate->dialer, &c->host, c->port, c->four ? DIAL_STREAM4 : DIAL_STREAM,
                         asked, on_dialled, c);
    if (!c->dial)
        proxy_failed(c, &(struct dial_end){.err = -ENOMEM});
}

struct conn *conn_new(struct gate *g, int fd)
{
    struct conn *c = g->nconns < CONNS_MAX ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        close(fd);
        return NULL;
    }
    c->gate = g;
    c->client = (struct side){.watch = {fd, on_side}, .conn = c, .connected = true};
    c->server = (struct side){.watch = {-1, on_side}, .conn = c};
    c->next = g->conns;
    if (g->conns)
        g->conns->prev = c;
    g->conns = c;
    g->nconns++;
    return c;
}

static void begin_transparent(struct conn *c, const struct listener *l)
{
    bool as_sent = l->kind == LISTEN_PORT || c->gate->o->sockets.handed_over;
    const struct gate_packets *packets = c->gate->o->packets;
    if (packets && packets->destination(c, as_sent, l->kind == NETNS_TCP6))
        conn_advance(c);
    else
        conn_reset(c);
}

static const uint8_t loopback[2][16] = {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1},
                                        {[15] = 1}};

/* The host's server may listen on IPv4 or IPv6, so dial the name. If a rule allows only the
 * address, or denies the client's kind of socket, dial that. Other loopback addresses have no name.
 */
void conn_set_local(struct conn *c, const uint8_t addr[16])
{
    static const char name[] = "localhost";
    bool named = memcmp(addr, loopback[0], 16) == 0 || memcmp(addr, loopback[1], 16) == 0;
    c->four = addr_is_v4(addr);
    peer_parse(name, sizeof(name) - 1, &c->host);
    uint16_t proto = c->four ? NET_TCP4 : NET_TCP6;
    if (!named || !rules_ask(&c->gate->rules, &c->host, c->port, proto).allow)
        peer_from_address(addr, &c->host);
}

static void begin_local(struct conn *c, const struct listener *l)
{
    c->port = l->port;
    conn_set_local(c, loopback[l->v6]);
    conn_advance(c);
}

static void begin_conn(struct listener *l, int fd, const struct sockaddr_storage *from)
{
    struct gate *g = l->gate;
    struct conn *c = conn_new(g, fd);
    if (!c)
        return;
    addr_from_sockaddr(from, c->who.addr, &c->who.port);
    if (loop_add(&g->loop, &c->client.watch, false) < 0) {
        conn_close(c);
        return;
    }
    c->local = l->kind == NETNS_LOOP4 || l->kind == NETNS_LOOP6;
    if (c->local || (g->o->announced && l->kind == NETNS_TCP4)) {
        gate_announce_await(c);
        return;
    }
    if (l->kind == NETNS_TCP4 || l->kind == NETNS_TCP6 || l->kind == LISTEN_PORT) {
        begin_transparent(c, l);
        return;
    }
    if (l->kind == LISTEN_LOCAL) {
        begin_local(c, l);
        return;
    }
    c->state = l->kind == NETNS_HTTP || l->kind == NETNS_SOCKS ? CONN_FIRST : CONN_DNS;
    conn_limit(c, HEAD_MS);
}

/* Starts at one and doubles while connections arrive in every turn: most accept calls after the
 * first would fail. */
static unsigned accept_limit(struct listener *l)
{
    bool again = l->turn + 1 == l->gate->loop.turns;
    l->turn = l->gate->loop.turns;
    l->burst = (uint8_t)(!again || !l->burst ? 1 : l->burst < ACCEPTS ? l->burst * 2 : ACCEPTS);
    return l->burst;
}

void conn_accept(struct listener *l)
{
    unsigned most = accept_limit(l);
    for (unsigned i = 0; i < most; i++) {
        struct sockaddr_storage from;
        socklen_t n = sizeof(from);
        int fd = fd_accept(l->watch.fd, (struct sockaddr *)&from, &n, FD_NONBLOCK);
        /* The listener stays readable without descriptors; sleeping keeps the loop from spinning on
         * it. */
        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
            usleep(FULL_US);
        if (fd < 0)
            return;
        begin_conn(l, fd, &from);
    }
}
