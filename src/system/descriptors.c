/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/descriptors.h"

void fd_close_others(int *keep, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && keep[k] < keep[k - 1]; k--) {
            int x = keep[k];
            keep[k] = keep[k - 1];
            keep[k - 1] = x;
        }
    int from = 0;
    for (size_t i = 0; i < n; i++) {
        if (keep[i] > from)
            fd_close_range(from, keep[i] - 1);
        from = keep[i] < from ? from : keep[i] + 1;
    }
    fd_close_range(from, -1);
}
