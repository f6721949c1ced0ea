/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network. If the policy allows no Internet address at all, an empty network namespace is
 * enough. If it allows some, outgoing traffic goes through the gate.
 *
 * Without a namespace the command is in the host's network, and the filter is the only wall. If
 * nothing is allowed, the command can create no IP socket at all. Otherwise it can create TCP
 * sockets, and the judge, which alone connects them, leads each to the gate.
 */

#include "base/own.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

/* For an Internet address no test of a path, a Unix socket or a macOS object matches. */
static bool fails_for_addresses(void *arg, const struct graph_test *t, bool *holds)
{
    (void)arg;
    *holds = false;
    return t->filter == FILTER_PATH || t->filter == FILTER_CONTROL_NAME ||
           (t->filter == FILTER_REMOTE && (t->net.proto & NET_UNIX));
}

/* Whether the operation could be allowed for some Internet address. */
static bool reaches_addresses(struct plan *p, const struct graph *g, enum vocab_op op)
{
    return plan_outcomes_where(p, g, op, fails_for_addresses, NULL) &
           (OUTCOME_ALLOW | OUTCOME_REPORTED);
}

static void plan_ports(struct plan *p, const struct graph *g)
{
    if (!p->net_ns)
        return;
    p->nlocal = rules_local_ports(g, p->local, PLAN_PORTS);
    p->npublished = rules_published_ports(g, p->published, PLAN_PORTS);
}

static bool is_published(const struct plan *p, uint16_t port)
{
    for (size_t i = 0; i < p->npublished; i++)
        if (p->published[i] == port)
            return true;
    return false;
}

static bool is_local(const struct plan *p, uint16_t port)
{
    for (size_t i = 0; i < p->nlocal; i++)
        if (p->local[i].port == port)
            return true;
    return false;
}

/* Ports that lead to the gate where packets cannot be redirected, except those on loopback. They
 * are in every plan with a gate, because the kernel may still refuse the launch's packet rules. */
static void plan_gate_ports(struct plan *p, const struct graph *g)
{
    size_t n = rules_remote_ports(g, p->ports, PLAN_GATE_PORTS);
    for (size_t i = 0; i < n; i++)
        if (!is_published(p, p->ports[i]) && !is_local(p, p->ports[i]))
            p->ports[p->nports++] = p->ports[i];
}

static void note_gate_ports(struct plan *p)
{
    OWN(buf) struct buf list = {0};
    if (p->nports == 0 || p->host.nftables || p->opt.terse)
        return;
    for (size_t i = 0; i < p->nports; i++)
        buf_fmt(&list, i ? ", %u" : "%u", p->ports[i]);
    plan_note(
        p,
        "permits less: no nftables, so that without a proxy connections lead to the gate "
        "only at these ports, on which no program inside can listen; at others they are refused: "
        "%s",
        list.s ? list.s : "");
}

static void note_ports(struct plan *p, const struct graph *g)
{
    if (!p->gate || p->opt.terse)
        return;
    for (size_t i = 0; i < p->nlocal; i++)
        if (!is_published(p, p->local[i].port))
            plan_note(p, "port %u of loopback leads to this machine's (%s), and is not free inside",
                      p->local[i].port,
                      !p->local[i].udp   ? "TCP"
                      : !p->local[i].tcp ? "UDP"
                                         : "TCP and UDP");
    for (size_t i = 0; i < p->npublished; i++)
        plan_note(p,
                  is_local(p, p->published[i])
                      ? "port %u of loopback leads to this machine's when a server listens there "
                        "as the command starts; else this machine's leads to the command's"
                      : "port %u of this machine's loopback leads to the command's",
                  p->published[i]);
    if (p->local_all)
        plan_note(p, "connections to loopback lead to the command's servers, or else to this "
                     "machine's");
    if (p->publish_all)
        plan_note(p, "this machine's loopback leads to servers of the command, at ports that are "
                     "free here");
    else if (p->net_ns && rules_publish_all(g))
        plan_note(p, "permits less: this machine calls servers inside only at ports that a rule "
                     "names one by one");
}

static const char *note_of(const struct plan *p)
{
    if (p->isolated)
        return "no Internet host is allowed; Unix sockets are judged by path";
    return p->host.nftables && p->host.nft_tproxy
               ? "the gate checks Internet hosts by name, datagrams too; "
                 "Unix sockets by path"
               : "the gate checks Internet hosts by name, datagrams "
                 "are refused (no nft tproxy); Unix sockets by path";
}

/* Names that the user wrote out, of sockets in the host's network. */
static void note_abstract(struct plan *p, const struct graph *g)
{
    for (uint32_t i = 0; p->net_ns && !p->opt.terse && i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_PATH && t->how == GRAPH_LITERAL && t->len && t->str[0] == '@')
            plan_note(p,
                      "permits less: %.*s is looked up in the sandbox's network, not in the "
                      "host's",
                      (int)(t->len < 100 ? t->len : 100), t->str);
    }
}

void plan_network(struct plan *p, const struct graph *g, bool net_ns)
{
    const struct host *h = &p->host;
    struct plan_op *o = &p->ops[OP_NETWORK_OUTBOUND];
    bool restricted = o->tier != TIER_FREE;
    bool reached = restricted && reaches_addresses(p, g, OP_NETWORK_OUTBOUND);
    bool hosts = reached || (restricted && (p->opt.ask || p->opt.watch_net || plan_may_widen(p)));
    bool judge = h->seccomp_notify && h->notify_addfd && !h->listener_taken && h->read_memory;
    p->net_ns = net_ns && restricted;
    p->dials = hosts && !p->net_ns && judge && !p->opt.container;
    p->makes_sockets = !plan_set_is_free(p, SET_SOCKETS) && judge && !h->pidfd_getfd;
    p->no_ip = restricted && !p->net_ns && !p->dials;
    plan_ports(p, g);
    p->local_all = p->net_ns && judge && reached && rules_local_all(g);
    p->publish_all =
        p->net_ns && judge && reaches_addresses(p, g, OP_NETWORK_INBOUND) && rules_publish_all(g);
    p->session = p->opt.session && p->net_ns && judge;
    if (p->opt.pod_gate) { /* the judge and that gate know nothing of each other */
        p->local_all = p->publish_all = false;
        p->nlocal = p->npublished = 0;
    }
    p->gate = (hosts && (p->net_ns || p->dials)) || p->npublished || p->publish_all || p->session;
    p->isolated = p->net_ns && !hosts && !p->npublished;
    if (hosts && p->net_ns)
        plan_gate_ports(p, g);
    if (p->net_ns && o->tier == TIER_JUDGED)
        o->note = note_of(p);
    note_gate_ports(p);
    note_ports(p, g);
    note_abstract(p, g);
    if (p->gate && p->opt.ask)
        plan_note(p, "the user is asked on the terminal about hosts that no rule names");
}

void plan_network_notes(struct plan *p)
{
    static const struct {
        uint16_t op;
        const char *dialled;
    } ops[] = {
        {OP_NETWORK_OUTBOUND, "permits less: no network namespace, so that the judge leads "
                              "connections to the gate, which asks by name; datagrams are refused, "
                              "and not reported"},
        {OP_NETWORK_INBOUND, "no network namespace: servers of the command are open to the host's "
                             "network"},
        {OP_NETWORK_BIND, "no network namespace: ports are the host's"},
    };
    if (!p->no_ip && !p->dials)
        return;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct plan_op *o = &p->ops[ops[i].op];
        if (o->tier == TIER_FREE)
            continue;
        if (p->dials && o->tier == TIER_DENIED)
            o->tier = TIER_JUDGED; /* no wall knows about it */
        o->wall = p->dials ? (p->handled_net ? "Landlock" : NULL) : "system call filter";
        o->note = p->dials ? ops[i].dialled
                  : p->opt.container
                      ? "permits less: no gate for a container, so IP sockets cannot be made at all"
                      : "permits less: no network namespace, so IP sockets cannot be made at "
                        "all, loopback included";
    }
}
