/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_KEPT_FILES_H
#define BK_RUN_KEPT_FILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "kernel/shared/image.h"

/*
 * What earlier runs computed: images (kernel/shared/image.h) in a folder of the user's state
 * folder, which no sandboxed command can write. A file that was made from other inputs, is not the
 * user's own private one, or is damaged, is ignored. The oldest are removed when there are many.
 */

/* Maps the one that was made from these inputs, for good. Returns its root, or NULL. */
const void *kept_load(const char *folder, const struct buf *inputs);

/* Makes what is kept in the image's arena. Returns its root, or NULL to keep nothing. */
typedef const void *kept_fn(struct arena *arena, void *arg);

/* Keeps one for later. Failing has no effect. */
void kept_save(const char *folder, const struct buf *inputs, kept_fn *fn, void *arg);

#endif
