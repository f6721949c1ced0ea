/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_FD_H
#define BK_BASE_FD_H

#include <sys/types.h>

/* Reads until the end or until cap bytes are there, which means "perhaps more". -1 with errno, or
 * how many there are. */
ssize_t fd_read_all(int fd, void *to, size_t cap);
/* Writes all of it; -1 with errno. */
int fd_write_all(int fd, const void *bytes, size_t n);

#endif
