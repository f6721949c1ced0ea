/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_APPLY_SELF_H
#define BK_KERNEL_LAUNCH_APPLY_SELF_H

#include "kernel/plan/plan.h"

/*
 * Sandboxing the calling process itself, for good, with everything it starts from now on. It has
 * one thread, and no namespace is made for it: the plan was made for a host that apply_host() has
 * taken them from.
 */
void apply_host(struct host *h);

/* Why this plan cannot be applied to a process, or NULL. */
const char *apply_refuses(const struct plan *p);

/* report: where denials are told, a line of JSON each, or -1. On failure *half says whether
 * something of it holds already. plan and graph are used by another process's copy. */
int apply_process(const struct plan *p, const struct graph *g, int report, bool *half,
                  struct bk_err *err);

#endif
