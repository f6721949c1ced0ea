/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_COPY_H
#define BK_WORLD_LINUX_COPY_H

#include <sys/types.h>

/* Each returns 0 or a negative errno. */

/* The contents of an open file for an empty one: shared blocks where the file system can, else
 * bytes; holes stay holes. */
int copy_bytes(int from, int to, off_t size);
/* A symlink with its owner and times. */
int copy_symlink(int upper, const char *name, int above, const char *as);

#endif
