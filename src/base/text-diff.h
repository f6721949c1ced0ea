/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_TEXT_DIFF_H
#define BK_BASE_TEXT_DIFF_H

#include "base/buf.h"

/* Appends the difference of two texts for people, as `diff -u` does: nothing if they are equal. A
 * NULL text is a file that does not exist. Control bytes are escaped. */
void text_diff(const char *name, const char *old, size_t nold, const char *new, size_t nnew,
               struct buf *out);

#endif
