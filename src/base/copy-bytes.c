/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Shares the blocks where the file system can. Else it copies what is not a hole, in the kernel
 * where that is possible.
 */

#include "base/copy-bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

static ssize_t copy_in_kernel(int from, int to, off_t at, size_t n)
{
    off_t in = at, out = at;
    return copy_file_range(from, &in, to, &out, n, 0);
}

static int copy_range(int from, int to, off_t at, off_t end)
{
    char room[32 << 10];
    while (at < end) {
        ssize_t n = copy_in_kernel(from, to, at, (size_t)(end - at));
        if (n < 0 &&
            (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
            size_t most = end - at < (off_t)sizeof(room) ? (size_t)(end - at) : sizeof(room);
            n = pread(from, room, most, at);
            n = n > 0 ? pwrite(to, room, (size_t)n, at) : n;
        }
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0; /* it has become shorter: nobody writes there, so it cannot */
        at += n;
    }
    return 0;
}

int copy_bytes(int from, int to, off_t size)
{
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    if (ftruncate(to, size) < 0)
        return -errno;
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 0; /* only a hole is left */
        if (data < 0)
            return copy_range(from, to, at, size);
        off_t hole = lseek(from, data, SEEK_HOLE);
        int err = copy_range(from, to, data, hole < 0 ? size : hole);
        if (err < 0)
            return err;
        at = hole < 0 ? size : hole;
    }
    return 0;
}
