/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_COPY_BYTES_H
#define BK_BASE_COPY_BYTES_H

#include <sys/types.h>

/* The contents of an open file for an empty one: shared blocks where the file system can, else
 * bytes; holes stay holes. Returns 0 or a negative errno. */
int copy_bytes(int from, int to, off_t size);

#endif
