/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/folder-id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int folder_id_get(int folder, const char *name, struct folder_id *id)
{
    struct stat st;
    int result = *name ? fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(folder, &st);
    if (result < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    id->dev = (uint64_t)(uint32_t)st.st_dev;
    id->ino = st.st_ino;
    id->born = (int64_t)st.st_birthtimespec.tv_sec * 1000000000 + st.st_birthtimespec.tv_nsec;
    return 0;
}
