/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_DEVICE_WALL_H
#define BK_KERNEL_LAUNCH_DEVICE_WALL_H

#include "graph/eval.h"
#include "kernel/plan/plan.h"

/*
 * Closes device files in this mount namespace, wherever they are and whatever their names, except
 * for those that the plan leaves open. Returns 0 or a negative errno.
 */
int devices_wall(const struct plan *p, const struct graph *g);

/* All of them. */
int devices_close(void);
/* For one mount that is not attached yet: closes devices, or opens them again. */
int devices_close_tree(int tree);
int devices_open_tree(int tree);

#endif
