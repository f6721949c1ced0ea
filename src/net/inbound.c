/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Connections from the host to servers inside. The gate listens on the host's loopback and connects
 * each client to the same port of the sandbox's loopback, over IPv4 or, if that is refused, IPv6.
 *
 * A socket belongs to the network namespace that created it, so the launch creates a supply of
 * sockets inside. The gate disconnects each one after use and reuses it. If all are in use, new
 * clients wait in the accept queue.
 */

#include "net/inbound.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/gate-int.h"
#include "net/gate-session.h"
#include "system/descriptors.h"

static void set_accepting(struct gate *g, bool on)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].kind == LISTEN_PUBLISHED && g->listeners[i].watch.fd >= 0)
            loop_change(&g->loop, &g->listeners[i].watch, on ? LOOP_IN : 0);
}

static void return_socket(struct conn *c)
{
    struct gate *g = c->gate;
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    int fd = c->server.watch.fd;
    if (fd < 0)
        return;
    loop_forget(&g->loop, &c->server.watch);
    (void)connect(fd, &nowhere, sizeof(nowhere)); /* never fails, and resets the connection */
    g->inside[c->six][g->ninside[c->six]++] = fd;
    if (!c->six && g->ninside[0] == 1)
        set_accepting(g, true);
}

void inbound_return(struct conn *c)
{
    return_socket(c);
    c->inbound = false;
}

static void on_connected(struct watch *w, unsigned what);

/* Returns 0 if the connection is in progress, or a negative errno. */
static int connect_server(struct conn *c)
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
        set_accepting(g, false);
    c->server.watch = (struct watch){fd, on_connected};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)
        return -errno;
    /* only after connect(): epoll reports an unconnected socket as hung up */
    return loop_add(&g->loop, &c->server.watch, false);
}

/* Resets the client, as if no server listened on the port. */
static void server_refused(struct conn *c)
{
    return_socket(c);
    if (!c->six) {
        c->six = true;
        if (connect_server(c) == 0)
            return;
    }
    conn_reset(c);
}

static void on_connected(struct watch *w, unsigned what)
{
    struct side *s = (struct side *)w;
    int err = 0;
    socklen_t n = sizeof(err);
    if (!(what & LOOP_OUT))
        return;
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
        err = errno;
    if (err)
        server_refused(s->conn);
    else
        conn_joined(s->conn, what);
}

static void begin_inbound(struct listener *l, int fd)
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
    else if (connect_server(c) < 0)
        server_refused(c);
}

void inbound_accept(struct listener *l)
{
    while (l->gate->ninside[0] > 0) {
        int fd = fd_accept(l->watch.fd, NULL, NULL, FD_NONBLOCK);
        if (fd < 0)
            return;
        begin_inbound(l, fd);
    }
}

void inbound_take(struct gate *g, uint16_t port, int fd)
{
    struct listener from = {.gate = g, .port = port};
    begin_inbound(&from, fd);
}

/* ---- servers that start while the command runs ---- */

static bool is_published(const struct gate *g, uint16_t port)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].kind == LISTEN_PUBLISHED && g->listeners[i].port == port &&
            g->listeners[i].watch.fd >= 0)
            return true;
    return false;
}

static int publish(struct gate *g, int family, uint16_t port)
{
    int fd = netns_listen(family, SOCK_STREAM, port);
    if (fd < 0)
        return fd;
    int err = gate_add_listener(g, fd, LISTEN_PUBLISHED, port, family == AF_INET6);
    if (err < 0) {
        close(fd);
        return err;
    }
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].watch.fd == fd)
            g->listeners[i].server = true;
    return 0;
}

static void unpublish(struct gate *g, uint16_t port)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].server && g->listeners[i].port == port)
            loop_remove(&g->loop, &g->listeners[i].watch);
}

static void publish_if_allowed(struct gate *g, uint16_t port)
{
    if (!g->o->publishes || is_published(g, port) || !rules_publish(g->rules.graph, port))
        return;
    int err = publish(g, AF_INET, port);
    if (err == 0)
        (void)publish(g, AF_INET6, port); /* as for a port that a rule names */
    else if (g->o->on_taken)
        g->o->on_taken(g->o->arg, port, -err);
}

void inbound_note(struct gate *g, uint16_t port)
{
    for (size_t i = 0; i < g->nservers; i++)
        if (g->servers[i] == port)
            return;
    if (port == 0 || g->nservers == GATE_SERVERS)
        return;
    g->servers[g->nservers++] = port;
    g->sweeps = true;
    gate_session_note(g, port, true);
    publish_if_allowed(g, port);
}

void inbound_sweep(struct gate *g)
{
    for (size_t i = 0; i < g->nservers;) {
        uint16_t port = g->servers[i];
        if (g->o->serves(g->o->arg, port)) {
            i++;
            continue;
        }
        gate_session_note(g, port, false);
        unpublish(g, port);
        g->servers[i] = g->servers[--g->nservers];
    }
    g->sweeps = g->sweeps || g->nservers;
}
