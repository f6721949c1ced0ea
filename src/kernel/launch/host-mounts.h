/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_HOST_MOUNTS_H
#define BK_KERNEL_LAUNCH_HOST_MOUNTS_H

#include <stddef.h>

/* The host's table of mounts, which init reads while the controller goes on. */

/* In init, before it mounts anything. After a failure the controller reads the table itself. */
void host_mounts_send(int to);
/* In the controller: takes the text, which the caller frees. Returns 0 or a negative errno. */
int host_mounts_take(int from, char **text, size_t *n);

#endif
