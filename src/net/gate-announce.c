/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Where there is no network that leads to the gate, somebody connects the command's sockets to it
 * and says where each was meant to go. The two come by different ways, so that either can be first.
 * Who connects without having been announced, from anywhere on this machine, is shown the door.
 */

#include <errno.h>
#include <sys/socket.h>

#include "net/gate-int.h"

enum { DNS_PORT = 53 };

static void lead(struct conn *c, const struct gate_announcement *a)
{
    c->unknown = false;
    c->deadline_ms = 0;
    c->port = a->port;
    if (a->port == DNS_PORT) { /* whichever resolver was meant */
        c->state = CONN_DNS;
        conn_limit(c, HEAD_MS);
    } else if (!gate_names(c->gate, a->addr, &c->host)) {
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
        lead(c, &a);
        return;
    }
    c->unknown = true;
    conn_limit(c, ANNOUNCE_MS);
}

static void hear(struct gate *g, const struct gate_announcement *a)
{
    for (struct conn *c = g->conns; c; c = c->next)
        if (c->unknown && c->who.port == a->client) {
            lead(c, a);
            return;
        }
    /* a port that is announced again is another connection's */
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
        hear(g, &a);
    if (n == 0) /* the end is heard of elsewhere */
        loop_remove(&g->loop, w);
}

int gate_announce_begin(struct gate *g)
{
    g->announcer = (struct watch){g->o->announced ? g->o->announcements : -1, on_announcement};
    return g->o->announced ? loop_add(&g->loop, &g->announcer, true) : 0;
}
