/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stddef.h>

void give_up(const char *what) __attribute__((noreturn));

/* floor-guard.c: a FUSE file system on each of these, whose server says of everything that it is
 * there and gives nothing. guard_points() puts it there, in the new mount namespace. */
void guard_these(char **paths, size_t n);
void guard_points(void);

#endif
