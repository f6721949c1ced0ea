/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/filter.h"

#include <errno.h>
#include <unistd.h>

enum { FILTER_MOST = 64 << 20 };

int filter_read(struct buf *out, struct bk_err *err)
{
    char block[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, block, sizeof(block))) != 0) {
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot read standard input");
        if (n > 0)
            buf_add(out, block, (size_t)n);
        if (out->n > FILTER_MOST)
            return err_set(err, BK_E_LIMIT, "standard input has more than %d MiB",
                           FILTER_MOST >> 20);
    }
    return buf_ok(out) ? 0 : err_nomem(err);
}
