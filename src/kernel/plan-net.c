/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network. Where the policy allows no Internet address whatever its name, a network namespace
 * with nothing in it is all it takes. Where it allows some, what leaves goes through the gate.
 */

#include "kernel/plan-int.h"

/* For an Internet address no test about a path or a Unix socket holds. */
static bool fails_for_addresses(const void *arg, const struct graph_test *t, bool *holds)
{
    (void)arg;
    *holds = false;
    return t->filter == FILTER_PATH || (t->filter == FILTER_REMOTE && (t->net.proto & NET_UNIX));
}

bool plan_reaches_addresses(struct plan *p, const struct graph *g, enum vocab_op op)
{
    return plan_outcomes_where(p, g, op, fails_for_addresses, NULL) &
           (OUTCOME_ALLOW | OUTCOME_TOLD);
}

void plan_ports(struct plan *p, const struct graph *g)
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

void plan_note_ports(struct plan *p, const struct graph *g)
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
                      ? "port %u of loopback leads to this machine's when somebody listens there "
                        "as the command starts; else this machine's leads to the command's"
                      : "port %u of this machine's loopback leads to the command's",
                  p->published[i]);
    if (rules_publish_all(g))
        plan_note(p, "permits less: this machine calls servers inside only at ports that a rule "
                     "names one by one");
}
