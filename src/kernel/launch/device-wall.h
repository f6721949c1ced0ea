/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_DEVICE_WALL_H
#define BK_KERNEL_LAUNCH_DEVICE_WALL_H

#include "graph/eval.h"
#include "kernel/plan/plan.h"

/* What init found in /dev: for each device DEVICE_…, its path and a NUL. */
enum { DEVICES_TEXT = 3072, DEVICE_MOUNTED = 'm', DEVICE_CHARACTERS = 'c', DEVICE_BLOCKS = 'b' };

struct devices_list {
    bool whole; /* or it is not to be used */
    uint16_t n; /* bytes of the text */
    char text[DEVICES_TEXT];
};

/*
 * Closes device files in this mount namespace, wherever they are and whatever their names, except
 * for those that the plan leaves open. found: by init, or NULL. Returns 0 or a negative errno.
 */
int devices_wall(const struct plan *p, const struct graph *g, const struct devices_list *found);

/* Init's part: makes a mount of each device that nearly every plan leaves open. What it leaves out,
 * devices_wall() makes up for. With found: of each device for characters that this user can open,
 * and lists all devices. */
void devices_prepare(struct devices_list *found);

/* All of them. */
int devices_close(void);
/* For one mount that is not attached yet: closes devices, or opens them again. */
int devices_close_tree(int tree);
int devices_open_tree(int tree);

#endif
