/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_HOST_MOUNTS_H
#define BK_KERNEL_LAUNCH_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* The host's table of mounts, which init reads while the controller goes on. */

/* In init, before it mounts anything. After a failure the controller reads the table itself.
 * Returns the table, which the caller frees, or NULL. */
char *host_mounts_send(int to);
/* Whether such a table has a mount below a folder. */
bool host_mounts_are_below(const char *table, const char *folder);
/* In the controller: takes the text, which the caller frees. Returns 0 or a negative errno. */
int host_mounts_take(int from, char **text, size_t *n);

#endif
