/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/folder-id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

int folder_id_get(int folder, const char *name, struct folder_id *id)
{
    struct statx x;
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    if (statx(folder, name, flags, STATX_TYPE | STATX_INO | STATX_BTIME, &x) < 0)
        return -errno;
    if (!S_ISDIR(x.stx_mode))
        return -ENOTDIR;
    id->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
    id->ino = x.stx_ino;
    id->born = x.stx_mask & STATX_BTIME
                   ? (int64_t)x.stx_btime.tv_sec * 1000000000 + (int64_t)x.stx_btime.tv_nsec
                   : 0;
    return 0;
}
