/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_HOST_FIX_H
#define BK_RUN_HOST_FIX_H

#include "base/buf.h"
#include "kernel/host/host.h"

/* What to do about an ability that this host lacks: lines of text, without indentation. Looks at
 * the settings that are known to take it away. */
void host_fix_text(const struct host *h, const struct host_ability *a, struct buf *out);

#endif
