/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Only spares ask, which macOS does not have. */

#include "system/inherited.h"

bool process_inherited(pid_t pid, char out[SHA256_HEX + 1])
{
    (void)pid;
    (void)out;
    return false;
}

void process_put_blocked(struct buf *out)
{
    (void)out;
}

void process_remember_signals(void)
{
}

void process_restore_signals(void)
{
}
