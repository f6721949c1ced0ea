/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "world/on-linux/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_range(int from, int to, off_t at, off_t end)
{
    char room[32 << 10];
    while (at < end) {
        off_t in = at, out = at;
        ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - at), 0);
        if (n < 0 &&
            (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
            n = pread(from, room, sizeof(room), at);
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

int copy_symlink(int upper, const char *name, int above, const char *as)
{
    struct stat st;
    char target[PATH_MAX];
    ssize_t n = readlinkat(upper, name, target, sizeof(target) - 1);
    if (n < 0 || fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    target[n] = '\0';
    if (symlinkat(target, above, as) < 0)
        return -errno;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    if (fchownat(above, as, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM)
        return -errno;
    return utimensat(above, as, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}
