/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The plan for a container that somebody else starts. Its runtime installs the filter; nothing of
 * ours runs inside. So there is no Landlock wall, no sentry, no layer, and a gate only on request
 * (node/pod-gate.c): the filter refuses or passes calls by their arguments, and the judge decides
 * the rest from outside.
 *
 * Which namespaces a container has is unknown until it starts. The plan counts on none of them.
 */

#include "kernel/plan/plan.h"

#include "net/rules.h"

int plan_for_container(const struct graph *g, bool gate, struct plan *out, struct bk_err *err)
{
    struct plan_options options = {.accept_weaker = true,
                                   .container = true,
                                   .pod_gate = gate && rules_lead_out(g),
                                   .arch = PLAN_NATIVE,
                                   .core_dumps = true};
    struct host host = {.root = true,
                        .caps = UINT64_MAX,
                        .seccomp_notify = true,
                        .notify_addfd = true,
                        .pidfd_getfd = true,
                        .read_memory = true,
                        .kernel = "5.14"};
    return plan_make(g, &options, &host, out, err);
}
