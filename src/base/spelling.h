/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_SPELLING_H
#define BK_BASE_SPELLING_H

#include <stddef.h>

enum { NEAR_MAX = 48 }; /* longer words are not compared */

/* The nearest of n names to a misspelled one, or NULL when none is near. */
const char *spelling_nearest(const char *name, const char *const *names, size_t n);

#endif
