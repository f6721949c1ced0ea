/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Without packet rules, only single ports lead to the gate (netns-setup-ports.c) and the kernel
 * refuses the rest. Raw sockets observe those packets so that the gate can report them. It sends no
 * reply: the kernel already did.
 */

#include "net/refused-packets.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "graph/net.h"
#include "net/gate-int.h"

enum { AT_ONCE = 64, HEAD_BYTES = 128, SAME_MS = 5000, DNS_PORT = 53, PORTS_BYTES = 4 };

/* Reports the same packet only once per SAME_MS. */
static bool is_new(struct gate *g, const struct flow_key *k, bool udp)
{
    for (size_t i = 0; i < GATE_REFUSED; i++) {
        const struct gate_refused *r = &g->refused[i];
        if (r->until_ms > g->loop.now_ms && r->udp == udp && memcmp(&r->key, k, sizeof(*k)) == 0)
            return false;
    }
    g->refused[g->nrefused++ % GATE_REFUSED] =
        (struct gate_refused){*k, udp, g->loop.now_ms + SAME_MS};
    return true;
}

static void report_refused(struct gate *g, const struct flow_key *k, bool udp)
{
    static const char why[] = "this kernel can't redirect packets to this port";
    struct peer host;
    gate_host_of(g, k->to, &host);
    struct graph_verdict v = rules_ask(&g->rules, &host, k->port, udp ? NET_UDP : NET_TCP);
    struct gate_denial d = {.host = &host,
                            .port = k->port,
                            .udp = udp,
                            .verdict = v,
                            .why = v.allow ? why : NULL,
                            .client = {.port = k->client_port}};
    memcpy(d.client.addr, k->client, sizeof(d.client.addr));
    d.verdict.allow = false;
    gate_deny(g, &d);
}

/* IPv4 packets start with their IP header. Raw sockets don't report the sender's port, so read it
 * from the packet. */
static bool read_ports(const uint8_t *head, size_t n, bool v6, struct flow_key *k)
{
    size_t at = v6 || n == 0 ? 0 : (size_t)(head[0] & 15) * 4;
    if (n < at + PORTS_BYTES)
        return false;
    k->client_port = (uint16_t)(head[at] << 8 | head[at + 1]);
    k->port = (uint16_t)(head[at + 2] << 8 | head[at + 3]);
    return k->client_port && k->port;
}

void refused_packets_receive(const struct listener *l)
{
    struct gate *g = l->gate;
    bool udp = l->kind == NETNS_REFUSED_UDP4 || l->kind == NETNS_REFUSED_UDP6;
    bool v6 = l->kind == NETNS_REFUSED_UDP6 || l->kind == NETNS_REFUSED_TCP6;
    for (int i = 0; i < AT_ONCE; i++) {
        uint8_t head[HEAD_BYTES];
        struct flow_key k;
        ssize_t n = datagram_receive(l->watch.fd, head, sizeof(head), &k);
        if (n < 0)
            return;
        bool refused = read_ports(head, (size_t)n, v6, &k) && !netns_is_inside(k.to) &&
                       k.port != DNS_PORT && (udp || !gate_listens(g, k.port));
        if (refused && is_new(g, &k, udp))
            report_refused(g, &k, udp);
    }
}
