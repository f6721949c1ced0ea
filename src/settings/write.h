/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_WRITE_H
#define BK_SETTINGS_WRITE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Creates missing folders above the last part. */
int settings_make_folders(const char *path, struct bk_err *err);

/* Writes a file atomically, and creates missing folders above it. Follows a symlink in its place,
 * for users who keep their settings elsewhere. */
int settings_write_file(const char *path, const struct buf *text, mode_t mode, struct bk_err *err);

#endif
