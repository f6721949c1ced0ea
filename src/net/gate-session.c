/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The gate's end of its link to the session (session-link.h). It hands a connection for another
 * command's server over as it is, before it has read any of it, and gets those for its own command.
 */

#include "net/gate-session.h"

#include <errno.h>
#include <unistd.h>

#include "net/gate-int.h"
#include "net/inbound.h"

static void take_message(struct gate *g, const struct link_message *m, int passed)
{
    switch (m->kind) {
    case LINK_LISTENS:
    case LINK_ENDED:
        link_ports_set(g->o->link_ports, m->port, m->kind == LINK_LISTENS);
        break;
    case LINK_CALL:
        inbound_take(g, m->port, passed);
        break;
    default:
        break;
    }
}

static void on_link(struct watch *w, unsigned what)
{
    struct gate *g = (struct gate *)((char *)w - offsetof(struct gate, link));
    struct link_message m;
    int passed, got;
    (void)what;
    while ((got = link_receive(w->fd, &m, &passed)) == 1)
        take_message(g, &m, passed);
    if (got != -EAGAIN) /* the session has ended; the command goes on alone */
        loop_remove(&g->loop, w);
}

int gate_session_begin(struct gate *g)
{
    g->link = (struct watch){g->o->linked ? g->o->link : -1, on_link};
    return g->o->linked ? loop_add(&g->loop, &g->link, true) : 0;
}

void gate_session_call(struct conn *c)
{
    struct gate *g = c->gate;
    if (g->link.fd < 0 || link_send(g->link.fd, LINK_CALL, c->port, c->client.watch.fd) < 0)
        conn_reset(c);
    else
        conn_close(c); /* only our copy */
}

void gate_session_note(struct gate *g, uint16_t port, bool listens)
{
    if (g->link.fd >= 0)
        (void)link_send(g->link.fd, listens ? LINK_LISTENS : LINK_ENDED, port, -1);
}
