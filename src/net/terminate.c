/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * TLS that ends in the gate, for hosts whose requests are checked one by one and for no others. The
 * client's hello waits while the gate greets the server, offers it the client's protocols, and
 * verifies its certificate. Only then does the client get an answer: the protocol that the server
 * has chosen, or the alert that the server's certificate deserves. The decrypted bytes take the
 * same way as those of plain HTTP (plain-http.c).
 */

#include "net/terminate.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/own.h"
#include "net/gate-int.h"
#include "net/handling.h"
#include "net/plain-http.h"

enum { HANDSHAKE_MS = 30000, LEFT_MS = 1000, WRITE_AT_ONCE = 64 << 10 };

/* ---- moving bytes ---- */

void terminate_flush(struct side *s)
{
    size_t n;
    const char *data = tls_end_output(s->tls, &n);
    if (n && !s->early) {
        side_send_raw(s, data, n);
        tls_end_sent(s->tls);
    }
}

void terminate_send(struct side *s, const void *data, size_t n)
{
    const char *at = data;
    if (s->early) {
        size_t part = n < s->early ? n : s->early;
        s->early -= part;
        at += part;
        n -= part;
        terminate_flush(s);
    }
    while (n && !s->shut) {
        size_t part = n < WRITE_AT_ONCE ? n : WRITE_AT_ONCE;
        s->deferred |= s->conn->gate->defers;
        if (s->deferred ? !tls_end_write_later(s->tls, at, part) : !tls_end_write(s->tls, at, part))
            s->ended = s->shut = true;
        if (!s->deferred)
            terminate_flush(s);
        at += part;
        n -= part;
    }
}

bool terminate_end(struct side *s)
{
    if (!s->said_end) {
        s->said_end = true;
        tls_end_close(s->tls);
        terminate_flush(s);
    }
    return queue_size(&s->out) == 0;
}

bool terminate_passes(const struct conn *c)
{
    return !c->client.early && c->client.tls && plain_http_passes(c);
}

static enum tls_result read_answer(struct conn *c, char *plain, size_t room, size_t *n)
{
    if (!tls_end_was_passed(c->server.tls) && !terminate_passes(c))
        return tls_end_read(c->server.tls, plain, room, n);
    enum tls_result got = tls_end_pass(c->server.tls, c->client.tls, plain, room, n);
    c->client.early = *n;
    return got;
}

/* If something of an answer is neither passed on nor kept, the server has said more than it was
 * asked for. The client gets it, and then nothing more. */
static void check_early(struct conn *c)
{
    if (c->client.early <= queue_size(&c->answer))
        return;
    c->client.early = 0;
    terminate_flush(&c->client);
    conn_finish(c);
}

void terminate_read(struct side *from)
{
    struct conn *c = from->conn;
    char *plain = c->gate->scratch;
    size_t n;
    enum tls_result got = TLS_DONE;
    while (!c->dead && got == TLS_DONE) {
        got = from == &c->server ? read_answer(c, plain, TLS_AREA, &n)
                                 : tls_end_read(from->tls, plain, TLS_AREA, &n);
        if (got == TLS_DONE)
            conn_received(c, from, plain, n);
        if (!c->dead)
            check_early(c);
    }
    if (c->dead)
        return;
    terminate_flush(from); /* answers of TLS itself */
    if (got == TLS_CLOSED || got == TLS_FAILED)
        from->ended = true;
    if (got == TLS_FAILED && from == &c->server)
        plain_http_refuse(c, tls_end_wrong(from->tls));
}

void terminate_receive(struct side *from, const char *data, size_t n)
{
    struct conn *c = from->conn;
    if (!tls_end_feed(from->tls, data, n)) {
        conn_reset(c);
        return;
    }
    if (c->state == CONN_TLS)
        conn_advance(c);
    else
        terminate_read(from);
}

/* ---- handshakes ---- */

/* The authority is made when the gate starts. */
static void refuse_without(struct conn *c)
{
    const char *why = c->gate->o->no_tls;
    char text[256];
    snprintf(text, sizeof(text), "its requests are checked, and cannot be decrypted: %s",
             why ? why : "the rule came after the start, so run the command again");
    plain_http_refuse(c, text);
}

bool terminate_is_full(const struct conn *c)
{
    const struct handling *with = c->gate->o->handling;
    return with && with->tunnels && c->gate->nended >= with->tunnels &&
           (handling_ends_tls(with, &c->host, c->port) ||
            rules_by_request(&c->gate->rules, &c->host, c->port));
}

bool terminate_begin(struct conn *c, const struct hello *hello)
{
    struct gate *g = c->gate;
    const struct handling *with = g->o->handling;
    const struct peer *name = hello->named ? &hello->name : &c->host;
    if (c->client.tls) {
        plain_http_refuse(c, "TLS inside TLS");
        return false;
    }
    if (handling_keeps_tls(with, &c->host, c->port) || terminate_is_full(c)) {
        plain_http_refuse(c, terminate_is_full(c) ? "too many TLS-terminated tunnels at once"
                                                  : "its requests are checked one by one, and "
                                                    "tlsTerminate.excludeDomains lists it");
        return false;
    }
    if (!g->tls) {
        refuse_without(c);
        return false;
    }
    c->client.tls = tls_end_accept(g->tls, name, queue_data(&c->in), queue_size(&c->in));
    g->nended += c->client.tls != NULL;
    if (!c->client.tls) {
        plain_http_refuse(c, "no certificate could be made");
        return false;
    }
    queue_free(&c->in);
    if (tls_end_shake(c->client.tls) != TLS_MORE || !tls_end_is_asking(c->client.tls)) {
        plain_http_refuse(c, "the TLS hello cannot be answered");
        return false;
    }
    if (tls_end_offers_others(c->client.tls)) {
        plain_http_refuse(c, "only requests are allowed, and TLS announces something else");
        return false;
    }
    /* answers are changed only in HTTP/1 */
    bool one = secrets_for_host(g->secrets, &c->host, c->port) != 0 || handling_needs_http1(with);
    unsigned offered = tls_end_offered(c->client.tls);
    if (one && offered == TLS_H2) {
        plain_http_refuse(c,
                          "it gets credentials, or its answers are changed, which needs HTTP/1.1");
        return false;
    }
    c->server.tls = tls_end_connect(g->tls, name, one ? offered & TLS_HTTP1 : offered);
    if (!c->server.tls) {
        conn_reset(c);
        return false;
    }
    c->state = CONN_TLS;
    conn_limit(c, with && with->handshake_ms ? with->handshake_ms : HANDSHAKE_MS);
    return true;
}

/* The server's error is the client's. */
static bool fail_server(struct conn *c)
{
    uint8_t alert[TLS_ALERT];
    struct gate_denial d = {.host = &c->host,
                            .port = c->port,
                            .why = tls_end_wrong(c->server.tls),
                            .client = c->who,
                            .verdict = {.rule = GRAPH_NO_RULE}};
    gate_deny(c->gate, &d); /* first: the client may end, and the run with it */
    tls_end_alert(c->server.tls, alert);
    side_send_raw(&c->client, alert, sizeof(alert));
    tls_end_free(c->client.tls);
    c->client.tls = NULL;
    c->gate->nended--;
    conn_finish(c);
    return false;
}

/* Returns true once the server's handshake is complete. */
static bool step_server(struct conn *c)
{
    if (!c->server.connected)
        return false;
    enum tls_result got = tls_end_shake(c->server.tls);
    terminate_flush(&c->server);
    if (got == TLS_DONE)
        return true;
    if (got != TLS_MORE || c->server.ended)
        return fail_server(c);
    return false;
}

static void begin_requests(struct conn *c)
{
    c->deadline_ms = 0;
    c->mute_until_ms = c->gate->loop.now_ms + LEFT_MS;
    c->state = tls_end_chosen(c->client.tls) == TLS_H2 ? CONN_H2 : CONN_HTTP;
    /* bytes that came along with the handshakes */
    terminate_read(&c->server);
    if (!c->dead)
        terminate_read(&c->client);
}

bool terminate_step(struct conn *c)
{
    enum tls_result got = tls_end_shake(c->client.tls);
    if (got == TLS_MORE && tls_end_is_asking(c->client.tls)) {
        if (!step_server(c))
            return false;
        unsigned chosen = tls_end_chosen(c->server.tls), offered = tls_end_offered(c->client.tls);
        tls_end_answer(c->client.tls, chosen ? chosen : offered & TLS_HTTP1);
        got = tls_end_shake(c->client.tls);
    }
    terminate_flush(&c->client);
    if (got == TLS_MORE)
        return false;
    if (got != TLS_DONE) {
        plain_http_refuse(c, got == TLS_FAILED ? tls_end_wrong(c->client.tls) : "the client left");
        return false;
    }
    begin_requests(c);
    return !c->dead;
}

void terminate_expired(struct conn *c)
{
    plain_http_refuse(c, "the TLS handshake took too long");
}

/* A client that pins a key looks at it once the handshake is complete, and leaves without saying
 * why. One that keeps a spare connection does not leave so soon. */
void terminate_left(struct conn *c)
{
    bool soon = c->gate->loop.now_ms < c->mute_until_ms && !c->server.ended;
    struct gate_denial d = {
        .host = &c->host,
        .port = c->port,
        .why = "the client left after the TLS handshake, without a request: it may expect the "
               "server's own certificate",
        .client = c->who,
        .verdict = {.rule = GRAPH_NO_RULE}};
    c->mute_until_ms = 0;
    if (soon)
        gate_deny(c->gate, &d);
}

/* ---- the authority ---- */

enum { PERMITTED_MAX = 200 };

/* The names of an authority while they are listed. */
struct name_list {
    struct net_rules rules;
    const struct handling *with;
    struct buf *names;
};

/* Whether TLS to some port of the host ends here. */
static bool is_ended(struct name_list *w, const struct peer *host)
{
    struct net_rules *r = &w->rules;
    for (size_t i = 0; i < r->nports; i++)
        if (rules_by_request(r, host, r->ports[i]) ||
            (handling_ends_tls(w->with, host, r->ports[i]) &&
             rules_ask(r, host, r->ports[i], NET_TCP).allow))
            return true;
    return false;
}

/* Adds the name of a (domain …) whose requests are checked. Names below it are included. */
static void permit_domain(struct name_list *w, const struct graph_test *t)
{
    char host[PEER_MAX + 1];
    struct peer peer;
    const char *s = t->str, *colon = bytes_find_last(s, ':', t->len);
    size_t n = colon ? (size_t)(colon - s) : t->len;
    bool below = n > 2 && s[0] == '*' && s[1] == '.';
    s += below ? 2 : 0;
    n -= below ? 2 : 0;
    int size = snprintf(host, sizeof(host), "%s%.*s", below ? "below." : "", (int)n, s);
    if (size > 0 && (size_t)size < sizeof(host) && peer_parse(host, (size_t)size, &peer) &&
        is_ended(w, &peer))
        buf_fmt(w->names, ",permitted;%s:%.*s%s", peer.address ? "IP" : "DNS", (int)n, s,
                peer.address ? "/255.255.255.255" : "");
}

/* An address or a range accepts any name, so that no list of names would do. */
static bool takes_any_name(struct name_list *w, const struct graph_test *t)
{
    struct peer peer = {.name = "host.invalid", .len = 12};
    if (t->filter != FILTER_REMOTE || t->how != GRAPH_NET || t->net.host == NET_HOST_LOCALHOST)
        return false;
    if (t->net.host == NET_HOST_ADDRESS)
        peer_from_address(t->net.addr, &peer);
    return is_ended(w, &peer);
}

static bool is_bare_address(const struct graph_test *t)
{
    return t->len && strspn(t->str, "0123456789.:[]") >= t->len;
}

/* Returns false if the authority must be valid for all names. */
static bool list_names(struct name_list *w)
{
    static const struct peer here = {.name = "localhost", .len = 9};
    const struct graph *g = w->rules.graph;
    struct buf *names = w->names;
    bool local = is_ended(w, &here);
    size_t n = 0;
    buf_str(names, "critical");
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (takes_any_name(w, t) || n > PERMITTED_MAX)
            return false;
        if (t->filter != FILTER_DOMAIN)
            continue;
        if (is_bare_address(t))
            return false;
        permit_domain(w, t);
        n++;
    }
    if (local)
        buf_str(names, ",permitted;DNS:localhost,permitted;IP:127.0.0.0/255.0.0.0,"
                       "permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    else
        buf_str(names, ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::");
    return true;
}

bool terminate_may(const struct graph *g, const struct handling *with)
{
    return graph_tests_requests(g) || (with && with->ends_tls);
}

bool terminate_names(const struct graph *g, const struct handling *with, struct buf *names)
{
    struct name_list w = {.with = with, .names = names};
    if (rules_init(&w.rules, g) < 0)
        return false;
    bool listed = !rules_are_open(&w.rules) && list_names(&w);
    rules_free(&w.rules);
    bool ok = buf_ok(names);
    if (!listed)
        buf_free(names);
    return ok;
}
