/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_INT_H
#define BK_KERNEL_PLAN_INT_H

#include "kernel/plan.h"

/* What the planner's files share. */

enum { PLAN_WALLS = 512 };

int plan_note(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether every operation of a set (enum judged_set) is free. */
bool plan_set_is_free(const struct plan *p, unsigned set);

/* Fills calls, ncalls and judge from the tiers. */
int plan_calls(struct plan *p, struct bk_err *err);

/* plan-caps.c: what is kept; fails when something is asked for that cannot be had, or that weakens
 * the walls. */
int plan_caps(struct plan *p, struct bk_err *err);

#endif
