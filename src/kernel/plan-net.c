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
