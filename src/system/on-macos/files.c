/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

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

int file_rename_new(const char *from, const char *to)
{
    return renamex_np(from, to, RENAME_EXCL);
}

/* O_EXEC on a folder means that it may be searched. */
int folder_open(int at, const char *name, bool pass)
{
    int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = pass ? -1 : openat(at, name, how | O_RDONLY);
    return pass || (fd < 0 && errno == EACCES) ? openat(at, name, how | O_EXEC) : fd;
}

int folder_list(int folder, bool again, folder_fn *fn, void *arg)
{
    int result = 0, copy = fcntl(folder, F_DUPFD_CLOEXEC, 3);
    OWN(dir) DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        own_close_fd(&copy);
        return -1;
    }
    if (again)
        rewinddir(d);
    for (struct dirent *e; result == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            result = fn(arg, &(struct folder_entry){e->d_name, e->d_type});
    return result;
}

int file_unnamed(void)
{
    char path[PATH_MAX];
    size_t n = confstr(_CS_DARWIN_USER_TEMP_DIR, path, sizeof(path));
    if (n == 0 || n + sizeof("buckle-XXXXXX") > sizeof(path))
        return errno = ENAMETOOLONG, -1;
    strcat(path, "buckle-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

uint64_t file_changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_ctimespec.tv_sec * 1000000000u + (uint64_t)st->st_ctimespec.tv_nsec;
}

uint64_t file_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
