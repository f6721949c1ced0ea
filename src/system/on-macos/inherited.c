/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Only spares ask, which macOS does not have. */

#include "system/inherited.h"

bool process_put_inherited(struct buf *out)
{
    (void)out;
    return false;
}

void process_remember_signals(void)
{
}

void process_restore_signals(void)
{
}
