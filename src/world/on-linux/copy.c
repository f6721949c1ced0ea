/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "world/on-linux/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

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
