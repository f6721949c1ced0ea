/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_WRITE_H
#define BK_SETTINGS_WRITE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Makes what is missing of everything above the last part. */
int settings_make_folders(const char *path, struct bk_err *err);

/* Writes a file whole or not at all, and the folders above it that are missing. A symbolic link in
 * its place is followed, as people who keep their settings elsewhere expect. */
int settings_write_file(const char *path, const struct buf *text, mode_t mode, struct bk_err *err);

#endif
