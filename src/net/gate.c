/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The gate's main loop: one thread, one epoll set, all state in struct gate. Listeners hand new
 * connections to conn.c, datagrams to udp.c and questions to dns-stub.c. Once a second the loop
 * sweeps what has expired.
 */

#include "net/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "graph/net.h"
#include "net/decider.h"
#include "net/dns-stub.h"
#include "net/gate-announce.h"
#include "net/gate-ask.h"
#include "net/gate-int.h"
#include "net/gate-session.h"
#include "net/hand-over.h"
#include "net/inbound.h"
#include "net/packets.h"
#include "net/plain-http.h"
#include "net/terminate.h"

enum { SWEEP_MS = 1000 };

void gate_deny(struct gate *g, const struct gate_denial *d)
{
    if (g->o->on_denial && (d->verdict.flags & VOCAB_FLAG_REPORT || d->why))
        g->o->on_denial(g->o->arg, d);
}

/* Another host with the same place in the table makes the first one new again. */
void gate_allow(struct gate *g, const struct gate_denial *d)
{
    if (!g->o->tells_hosts || !g->o->on_denial)
        return;
    uint64_t hash = 0xcbf29ce484222325u ^ d->port ^ (uint64_t)d->udp << 16;
    for (size_t i = 0; i < d->host->len; i++)
        hash = (hash ^ (uint8_t)d->host->name[i]) * 0x100000001b3u;
    uint64_t *known = &g->reached[hash % GATE_REACHED];
    if (*known == hash)
        return;
    *known = hash;
    struct gate_denial told = *d;
    told.verdict.allow = told.reached = true;
    told.why = NULL;
    g->o->on_denial(g->o->arg, &told);
}

enum may gate_check(struct conn *c, const struct peer *host, uint16_t port, struct gate_verdict *v)
{
    struct gate *g = c->gate;
    *v = (struct gate_verdict){rules_ask(&g->rules, host, port, NET_TCP), NULL};
    enum may may = v->rule.allow ? MAY : MAY_NOT;
    if (gate_ask_could(g, host, &v->rule))
        may = gate_ask_may(g, &c->who, host, port, NET_TCP, &c->asked, &v->why);
    if (may == MAY_LATER)
        c->deadline_ms = 0; /* the question has its own deadline */
    struct gate_denial d = {
        .host = host, .port = port, .verdict = v->rule, .why = v->why, .client = c->who};
    if (may == MAY_NOT || (v->rule.allow && v->rule.flags & VOCAB_FLAG_REPORT))
        gate_deny(g, &d);
    if (may == MAY)
        gate_allow(g, &d);
    return may;
}

bool gate_host_of(const struct gate *g, const uint8_t addr[16], struct peer *out)
{
    const struct peer *name = name_address_find(&g->names, addr);
    if (!name) {
        peer_from_address(addr, out);
        return !name_address_covers(addr);
    }
    memset(out, 0, sizeof(*out));
    memcpy(out, name, offsetof(struct peer, name) + name->len + 1);
    return true;
}

/* ---- listeners ---- */

static void on_listener(struct watch *w, unsigned what)
{
    struct listener *l = (struct listener *)w;
    struct gate *g = l->gate;
    (void)what;
    if (l->kind == NETNS_DNS4 || l->kind == NETNS_DNS6)
        dns_stub_datagram(g, w->fd);
    else if (l->kind == NETNS_UDP4 || l->kind == NETNS_UDP6)
        g->o->packets->datagrams(g, w->fd);
    else if (l->kind == LISTEN_LOCAL_DATAGRAMS)
        g->o->packets->local(l);
    else if (l->kind == LISTEN_PUBLISHED)
        inbound_accept(l);
    else if (l->kind >= NETNS_REFUSED_UDP4 && l->kind <= NETNS_REFUSED_TCP6)
        g->o->packets->refused(l);
    else
        conn_accept(l);
}

int gate_add_listener(struct gate *g, int fd, unsigned kind, uint16_t port, bool v6)
{
    size_t at = 0;
    if (fd < 0)
        return 0;
    while (at < g->nlisteners && g->listeners[at].watch.fd >= 0)
        at++;
    struct listener *l = &g->listeners[at];
    if (at >= LISTENERS)
        return -ENOSPC;
    *l = (struct listener){
        .watch = {fd, on_listener}, .gate = g, .kind = (uint8_t)kind, .port = port, .v6 = v6};
    g->nlisteners += at == g->nlisteners;
    return loop_add(&g->loop, &l->watch, true);
}

/* ---- without packet redirection ---- */

static bool is_listening(int fd)
{
    int listening = 0;
    socklen_t n = sizeof(listening);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) == 0 && listening;
}

static int port_of(int fd, bool *v6)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    uint8_t addr[16];
    uint16_t port;
    if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 || !addr_from_sockaddr(&at, addr, &port))
        return -1;
    *v6 = at.ss_family == AF_INET6;
    return port;
}

static int open_ports(struct gate *g)
{
    const int *ports = g->o->sockets.ports;
    bool v6;
    int err = 0;
    for (size_t i = 0; i < NETNS_PORTS && err == 0; i++)
        if (ports[i] >= 0 && is_listening(ports[i]))
            err = gate_add_listener(g, ports[i], LISTEN_PORT, (uint16_t)port_of(ports[i], &v6),
                                    false);
        else if (ports[i] >= 0)
            g->spare[g->nspare++] = ports[i];
    return err;
}

bool gate_listens(const struct gate *g, uint16_t port)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if (g->listeners[i].kind == LISTEN_PORT && g->listeners[i].port == port)
            return true; /* these are never closed */
    return false;
}

/* A loopback port that leads to the host or to a published server stays as it is. */
static bool is_elsewhere(const struct gate *g, uint16_t port)
{
    for (size_t i = 0; i < g->nlisteners; i++)
        if ((g->listeners[i].kind == LISTEN_LOCAL || g->listeners[i].kind == LISTEN_PUBLISHED) &&
            g->listeners[i].port == port)
            return true;
    return false;
}

/* Listens at ports that the new policy names. If the command already uses a port, it keeps it. */
static void listen_at_new(struct gate *g)
{
    uint16_t ports[NETNS_PORTS];
    size_t n = g->nspare ? rules_remote_ports(g->rules.graph, ports, NETNS_PORTS) : 0;
    for (size_t i = 0; i < n && g->nspare; i++) {
        int fd = g->spare[g->nspare - 1];
        bool v6 = false;
        if (gate_listens(g, ports[i]) || is_elsewhere(g, ports[i]) || port_of(fd, &v6) < 0 ||
            netns_bind_everywhere(fd, v6, ports[i]) < 0)
            continue;
        g->nspare--; /* used up, even if listen() fails */
        if (listen(fd, NETNS_BACKLOG) == 0)
            gate_add_listener(g, fd, LISTEN_PORT, ports[i], false);
    }
}

static int open_listeners(struct gate *g)
{
    const struct netns_sockets *net = &g->o->sockets;
    int err = 0;
    for (unsigned i = 0; i < NETNS_SOCKETS && err == 0; i++)
        if (i < NETNS_BACK4 || i > NETNS_ICMP6) /* send-only sockets */
            err = gate_add_listener(g, net->fds[i], i, 0, false);
    for (size_t i = 0; i < NETNS_LOCAL; i++)
        for (unsigned k = 0; k < NETNS_LOCAL_KINDS && err == 0; k++)
            err = gate_add_listener(g, net->local[i].fds[k],
                                    k < NETNS_LOCAL_UDP4 ? LISTEN_LOCAL : LISTEN_LOCAL_DATAGRAMS,
                                    net->local[i].port, k & 1);
    for (size_t i = 0; i < GATE_PUBLISHED && g->o->published[i].port; i++)
        for (unsigned k = 0; k < GATE_FAMILIES && err == 0; k++)
            err = gate_add_listener(g, g->o->published[i].fds[k], LISTEN_PUBLISHED,
                                    g->o->published[i].port, k);
    for (size_t i = 0; i < g->o->nproxies && err == 0; i++)
        err = gate_add_listener(g, g->o->proxies[i], NETNS_HTTP, 0, false);
    if (err == 0)
        err = open_ports(g);
    for (size_t k = 0; k < NETNS_FAMILIES; k++)
        for (size_t i = 0; i < NETNS_INSIDE && net->inside[k][i] >= 0; i++)
            g->inside[k][g->ninside[k]++] = net->inside[k][i];
    return err;
}

static void on_until(struct watch *w, unsigned what)
{
    struct gate *g = (struct gate *)((char *)w - offsetof(struct gate, until));
    const struct graph *policy = NULL;
    struct net_rules rules;
    (void)what;
    g->over = !g->o->on_word || !g->o->on_word(g->o->arg, &policy);
    if (policy && rules_init(&rules, policy) == 0) {
        rules_free(&g->rules);
        g->rules = rules;
        listen_at_new(g);
    }
}

/* ---- the loop ---- */

static void sweep_conns(struct gate *g)
{
    for (struct conn *c = g->conns, *next; c; c = next) {
        next = c->next;
        g->sweeps |= c->deadline_ms != 0;
        if (!c->deadline_ms || g->loop.now_ms < c->deadline_ms)
            continue;
        if (c->state == CONN_TLS)
            terminate_expired(c);
        else if (c->state == CONN_HTTP)
            plain_http_expired(c);
        else
            conn_close(c);
    }
}

/* A wait without a timeout is cheaper: only set one if something can expire. */
static int longest_wait(const struct gate *g)
{
    int wait = g->busy ? 0 : dialer_wait(&g->dialer);
    return g->sweeps && (wait < 0 || wait > SWEEP_MS) ? SWEEP_MS : wait;
}

static int run_turn(struct gate *g, uint64_t *swept)
{
    conn_pump_busy(g);
    int err = loop_turn(&g->loop, longest_wait(g));
    dialer_tick(&g->dialer);
    if (g->loop.now_ms - *swept >= SWEEP_MS) {
        *swept = g->loop.now_ms;
        g->sweeps = false;
        sweep_conns(g);
        if (g->o->packets)
            g->o->packets->sweep(g);
        inbound_sweep(g);
        gate_ask_sweep(g);
        decider_sweep(g);
    }
    conn_free_closed(g);
    return err;
}

enum { LAST_TURNS = 16 };

/* The command may have ended right after its last connection: what has arrived of that is handled
 * still. Nothing is waited for. */
static int take_last_turns(struct gate *g)
{
    int err = 0;
    for (int i = 0; i < LAST_TURNS && g->nended && err == 0; i++) {
        conn_pump_busy(g);
        err = loop_turn(&g->loop, 0);
        conn_free_closed(g);
    }
    return err;
}

static int serve(struct gate *g)
{
    uint64_t swept = 0;
    int err = open_listeners(g);
    g->until = (struct watch){g->o->until, on_until};
    if (err == 0)
        err = loop_add(&g->loop, &g->until, true);
    if (err == 0)
        err = gate_announce_begin(g);
    if (err == 0)
        err = gate_session_begin(g);
    if (err == 0)
        err = gate_ask_begin(g);
    if (err == 0)
        err = decider_begin(g);
    if (err == 0)
        err = hand_over_begin(g);
    while (err == 0 && !g->over)
        err = run_turn(g, &swept);
    loop_forget(&g->loop, &g->until);
    if (err == 0)
        err = take_last_turns(g);
    while (g->conns)
        conn_close(g->conns);
    if (g->o->packets)
        g->o->packets->end(g);
    conn_free_closed(g);
    gate_ask_end(g);
    decider_end(g);
    hand_over_end(g);
    return err;
}

int gate_run(const struct gate_options *o)
{
    struct gate *g = calloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->o = o;
    g->tls = o->tls;
    g->secrets = o->secrets;
    if (o->token)
        http_basic("buckle", o->token, g->login);
    int err = loop_init(&g->loop, o->portable ? &loop_portable : &loop_native);
    if (err == 0 && (rules_init(&g->rules, o->graph) < 0 || name_address_init(&g->names) < 0))
        err = -ENOMEM;
    if (err == 0)
        err = dialer_init(&g->dialer, &g->loop, &g->rules, o->parents, o->handling);
    if (err == 0)
        err = serve(g);
    tls_helper_free(g->tls);
    dialer_free(&g->dialer);
    name_address_free(&g->names);
    rules_free(&g->rules);
    struct netns_sockets sockets = o->sockets;
    netns_close(&sockets);
    loop_free(&g->loop);
    free(g);
    return err;
}
