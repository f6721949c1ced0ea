/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

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

/* musl does not declare renameat2(). */
int file_rename_new(const char *from, const char *to)
{
    enum { NOREPLACE = 1 };
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE);
}

int folder_open(int at, const char *name, bool pass)
{
    int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = pass ? -1 : openat(at, name, how | O_RDONLY);
    return pass || (fd < 0 && errno == EACCES) ? openat(at, name, how | O_PATH) : fd;
}

/* As the kernel writes it. */
struct entry {
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
    char name[];
};

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Without opendir(), which allocates 32 KiB. */
int folder_list(int folder, bool again, folder_fn *fn, void *arg)
{
    _Alignas(8) char block[8192];
    if (again && lseek(folder, 0, SEEK_SET) < 0)
        return -1;
    for (;;) {
        long n = syscall(SYS_getdents64, folder, block, sizeof(block));
        if (n <= 0)
            return (int)n;
        for (long at = 0; at < n;) {
            const struct entry *e = (const void *)(block + at);
            at += e->len;
            int result = is_dots(e->name) ? 0 : fn(arg, &(struct folder_entry){e->name, e->type});
            if (result)
                return result;
        }
    }
}

int file_unnamed(void)
{
    return memfd_create("buckle", MFD_CLOEXEC);
}

uint64_t file_changed_ns(const struct stat *st)
{
    return (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
}

uint64_t file_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
