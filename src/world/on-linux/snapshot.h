/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_SNAPSHOT_H
#define BK_WORLD_LINUX_SNAPSHOT_H

#include <stdbool.h>

/* Copies an upper side with its marks of an overlay to above/name, which must not exist. earlier: a
 * copy that was made before, or -1; what is the same becomes a second name of the file there.
 * *differs: set if something is not. Sockets and pipes are left out, and what has a longer path
 * than the kernel takes. Returns 0 or a negative errno. */
int snapshot_copy(int from, int above, const char *name, int earlier, bool *differs);
/* The same of a tree that nobody changes any longer: its files get second names. */
int snapshot_link(int from, int above, const char *name);

#endif
