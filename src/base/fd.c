/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "base/fd.h"

#include <errno.h>
#include <unistd.h>

ssize_t fd_read_all(int fd, void *to, size_t cap)
{
    size_t n = 0;
    while (n < cap) {
        ssize_t got = read(fd, (char *)to + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

int fd_write_all(int fd, const void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t wrote = write(fd, (const char *)bytes + at, n - at);
        if (wrote < 0 && errno != EINTR)
            return -1;
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}
