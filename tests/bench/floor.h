/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stddef.h>

void give_up(const char *what) __attribute__((noreturn));

/* floor-sentry.c: a FUSE file system on each of these paths, whose server reports that everything
 * exists and returns nothing. sentry_points() mounts it, in the new mount namespace. */
void mount_sentries(char **paths, size_t n);
void sentry_points(void);

#endif
