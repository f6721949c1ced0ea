/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Without a network namespace, the judge connects the command's sockets to the gate and announces
 * where each one wanted to go. Announcement and connection arrive over different channels, in
 * either order. The gate drops connections that nobody announces: any process on this machine could
 * have made them.
 */

#include "net/gate-announce.h"

#include <errno.h>
#include <sys/socket.h>

#include "net/gate-int.h"
#include "net/gate-session.h"
#include "net/inbound.h"

enum { DNS_PORT = 53, ANNOUNCE_MS = 5000 /* to wait for an announcement */ };

static void set_destination(struct conn *c, const struct gate_announcement *a)
{
    c->unknown = false;
    c->deadline_ms = 0;
    c->port = a->port;
    if (c->local && a->peer) {
        gate_session_call(c);
        return;
    }
    if (c->local) {
        conn_set_local(c, a->addr);
    } else if (a->port == DNS_PORT) { /* any resolver's address leads to the stub */
        c->state = CONN_DNS;
        conn_limit(c, HEAD_MS);
    } else if (!gate_host_of(c->gate, a->addr, &c->host)) {
        conn_reset(c);
        return;
    }
    conn_pump(c);
}

void gate_announce_await(struct conn *c)
{
    struct gate *g = c->gate;
    for (unsigned i = 0; i < GATE_ANNOUNCED; i++) {
        struct gate_announcement a = g->announced[i];
        if (a.client == 0 || a.client != c->who.port)
            continue;
        g->announced[i].client = 0;
        set_destination(c, &a);
        return;
    }
    c->unknown = true;
    conn_limit(c, ANNOUNCE_MS);
}

static void match_announcement(struct gate *g, const struct gate_announcement *a)
{
    for (struct conn *c = g->conns; c; c = c->next)
        if (c->unknown && c->who.port == a->client) {
            set_destination(c, a);
            return;
        }
    /* the port was reused by a new connection */
    for (unsigned i = 0; i < GATE_ANNOUNCED; i++)
        if (g->announced[i].client == a->client)
            g->announced[i].client = 0;
    g->announced[g->nannounced++ % GATE_ANNOUNCED] = *a;
}

static void on_announcement(struct watch *w, unsigned what)
{
    struct gate *g = (struct gate *)((char *)w - offsetof(struct gate, announcer));
    struct gate_announcement a;
    ssize_t n;
    (void)what;
    while ((n = recv(w->fd, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a))
        if (a.client)
            match_announcement(g, &a);
        else
            inbound_note(g, a.port);
    if (n == 0) /* the control channel reports the end */
        loop_remove(&g->loop, w);
}

int gate_announce_begin(struct gate *g)
{
    bool any = g->o->announced || g->o->local;
    g->announcer = (struct watch){any ? g->o->announcements : -1, on_announcement};
    return any ? loop_add(&g->loop, &g->announcer, true) : 0;
}
