/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_REMEDY_H
#define BK_RUN_REMEDY_H

#include "base/buf.h"
#include "kernel/host/host.h"

/* What to do about an ability that this host lacks: lines of text, without indentation. Reads the
 * kernel settings that are known to remove it. */
void remedy_text(const struct host *h, const struct host_ability *a, struct buf *out);

#endif
