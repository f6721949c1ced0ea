/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WORLD_LINUX_COPY_H
#define BK_WORLD_LINUX_COPY_H

/* A symlink with its owner and times. Returns 0 or a negative errno. */
int copy_symlink(int upper, const char *name, int above, const char *as);

#endif
