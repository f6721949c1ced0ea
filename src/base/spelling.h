/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_SPELLING_H
#define BK_BASE_SPELLING_H

#include <stddef.h>

enum { SPELLING_MAX = 48 }; /* longer words are not compared */

/* Returns the name closest to a misspelled one, or NULL when none is close. */
const char *spelling_nearest(const char *name, const char *const *names, size_t n);

#endif
