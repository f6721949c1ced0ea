/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_VERSION_H
#define BK_CLI_VERSION_H

#include "base/buf.h"

/* "buckle 0.1.0". */
void version_text(struct buf *out);
/* One object: version, commit, target, what it can run commands with, and features. */
void version_json(struct buf *out);

#endif
