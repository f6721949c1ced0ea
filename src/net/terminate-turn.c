/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a turn of the loop finds ready for connections whose TLS ends here. One call of buckle-tls
 * reads it all, the connections handle their part one after the other as any others do, and one
 * more call writes what they send. Bytes go from sockets into the memory of the call, and from
 * there to sockets.
 */

#include "net/terminate.h"

#include "net/gate-int.h"
#include "net/plain-http.h"

bool terminate_takes_turns(const struct conn *c)
{
    return c->client.tls && c->server.tls &&
           (c->state == CONN_HTTP || c->state == CONN_H2 || c->state == CONN_RELAY);
}

/* Requests still have to be parsed, so they are read in small parts. */
static void gather(struct side *s)
{
    struct conn *c = s->conn;
    size_t room;
    if (!side_may_read(s))
        return;
    char *at = tls_end_room(s->tls, &room);
    s->gathered = at || !tls_end_is_idle(s->tls);
    if (!at)
        return;
    if (s == &c->client && room > HTTP_HEAD_MAX)
        room = HTTP_HEAD_MAX;
    size_t n = side_receive(s, at, room);
    if (n)
        tls_end_read_later(s->tls, s == &c->server && terminate_passes(c) ? c->client.tls : NULL,
                           n);
}

bool terminate_gather(struct conn *c)
{
    struct gate *g = c->gate;
    if (!terminate_takes_turns(c))
        return false;
    if (g->ngathered == sizeof(g->gathered) / sizeof(g->gathered[0]))
        terminate_turn(g);
    g->gathered[g->ngathered++] = c;
    gather(&c->server);
    gather(&c->client);
    return true;
}

static void handle(struct conn *c)
{
    struct side *const sides[] = {&c->server, &c->client};
    for (size_t i = 0; i < 2; i++) {
        if (sides[i]->gathered && !c->dead)
            terminate_read(sides[i]);
        sides[i]->gathered = false;
    }
    if (!c->dead)
        conn_pump(c);
}

static void finish_sending(struct side *s)
{
    if (!s->deferred)
        return;
    s->deferred = false;
    if (tls_end_has_failed(s->tls)) {
        s->ended = s->shut = true;
        conn_pump_later(s->conn);
    }
    terminate_flush(s);
}

void terminate_settle(struct conn *c)
{
    if (!c->client.deferred && !c->server.deferred)
        return;
    tls_helper_settle(c->gate->tls);
    finish_sending(&c->server);
    finish_sending(&c->client);
}

void terminate_turn(struct gate *g)
{
    unsigned n = g->ngathered;
    if (!n)
        return;
    tls_helper_settle(g->tls);
    g->defers = true;
    for (unsigned i = 0; i < n; i++)
        handle(g->gathered[i]);
    g->defers = false;
    for (unsigned i = 0; i < n; i++)
        terminate_settle(g->gathered[i]);
    g->ngathered = 0;
}
