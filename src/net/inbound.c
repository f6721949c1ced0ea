/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From the host to servers inside. Listeners on the host's loopback are the gate's, and a
 * connection to one of them goes on to the same port of the sandbox's loopback, by IPv4 or, when
 * nobody answers there, by IPv6. A socket belongs to the network it was made in, so there is a
 * stock of sockets that were made inside; each is taken apart after use and used again. When all
 * are in use, others wait to be accepted.
 */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/gate-int.h"

static void listen_again(struct gate *g, bool on)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].kind == LISTEN_PUBLISHED)
            loop_change(&g->loop, &g->listeners[i].watch, on ? LOOP_IN : 0);
}

static void give_back(struct conn *c)
{
    struct gate *g = c->gate;
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    int fd = c->server.watch.fd;
    if (fd < 0)
        return;
    loop_forget(&g->loop, &c->server.watch);
    connect(fd, &nowhere, sizeof(nowhere)); /* which never fails, and resets what is left */
    g->inside[c->six][g->ninside[c->six]++] = fd;
    if (!c->six && g->ninside[0] == 1)
        listen_again(g, true);
}

void inbound_return(struct conn *c)
{
    give_back(c);
    c->inbound = false;
}

static void on_called(struct watch *w, unsigned what);

/* 0 when it is under way, or a negated errno. */
static int call(struct conn *c)
{
    static const uint8_t places[NETNS_FAMILIES][16] = {
        {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}, {[15] = 1}};
    struct gate *g = c->gate;
    struct sockaddr_storage to;
    socklen_t n = addr_to_sockaddr(places[c->six], c->port, &to);
    int one = 1;
    if (g->ninside[c->six] == 0)
        return -EAGAIN;
    int fd = g->inside[c->six][--g->ninside[c->six]];
    if (!c->six && g->ninside[0] == 0)
        listen_again(g, false);
    c->server.watch = (struct watch){fd, on_called};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)
        return -errno;
    /* after it was called: one that was not would be told of as ended */
    return loop_add(&g->loop, &c->server.watch, false);
}

/* As a port does that nobody listens on. */
static void refused(struct conn *c)
{
    give_back(c);
    if (!c->six) {
        c->six = true;
        if (call(c) == 0)
            return;
    }
    conn_reset(c);
}

static void on_called(struct watch *w, unsigned what)
{
    struct side *s = (struct side *)w;
    int err = 0;
    socklen_t n = sizeof(err);
    if (!(what & LOOP_OUT))
        return;
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
        err = errno;
    if (err)
        refused(s->conn);
    else
        conn_joined(s->conn, what);
}

static void begin(struct listener *l, int fd)
{
    struct gate *g = l->gate;
    struct conn *c = conn_new(g, fd);
    if (!c)
        return;
    c->port = l->port;
    c->inbound = true;
    c->state = CONN_RELAY;
    if (loop_add(&g->loop, &c->client.watch, false) < 0)
        conn_close(c);
    else if (call(c) < 0)
        refused(c);
}

void inbound_accept(struct listener *l)
{
    while (l->gate->ninside[0] > 0) {
        int fd = accept4(l->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        begin(l, fd);
    }
}
