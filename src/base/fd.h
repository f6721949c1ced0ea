/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_FD_H
#define BK_BASE_FD_H

#include <sys/types.h>

/* Reads until end of file or until cap bytes are read; a full buffer means there may be more.
 * Returns the number of bytes, or -1 with errno. */
ssize_t fd_read_all(int fd, void *to, size_t cap);
/* Writes everything. Returns 0, or -1 with errno. */
int fd_write_all(int fd, const void *bytes, size_t n);

#endif
