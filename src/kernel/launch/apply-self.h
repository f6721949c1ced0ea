/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_APPLY_SELF_H
#define BK_KERNEL_LAUNCH_APPLY_SELF_H

#include "kernel/plan/plan.h"

/*
 * Sandboxes the calling process itself, permanently, with everything it starts from now on. The
 * process has one thread and gets no namespaces: the plan must be for a host that apply_host() has
 * changed.
 */
void apply_host(struct host *h);

/* Why this plan cannot be applied to a process, or NULL. */
const char *apply_refuses(const struct plan *p);

/* report: where denials go, a line of JSON each, or -1. On failure *half says whether part of it is
 * in force. A copy of this process keeps using plan and graph. */
int apply_process(const struct plan *p, const struct graph *g, int report, bool *half,
                  struct bk_err *err);

#endif
