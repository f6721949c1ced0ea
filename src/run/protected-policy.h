/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_PROTECTED_POLICY_H
#define BK_RUN_PROTECTED_POLICY_H

#include "run/run-policy.h"

/* What is protected whatever a command may write: the default profile with Buckle's own rules and
 * the targets of links, as a run in this folder has them, without settings. */
struct protected_policy {
    struct run_spec spec;
    struct run_source source;
    struct run_policy policy;
    struct link_targets targets;
    struct buf own;
};

/* p: zeroed. The graph is p->policy.graph. cwd outlives it. Free with protected_policy_close()
 * whatever happened. */
int protected_policy_open(struct protected_policy *p, const char *cwd, struct bk_err *err);
void protected_policy_close(struct protected_policy *p);

#endif
