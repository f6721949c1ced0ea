/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * All other judged calls of the sandbox wait meanwhile, so the number of names is limited, and how
 * much the kernel has to copy. ask_beneath() has asked about each of them.
 */

#include "kernel/judge/move-folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"

enum { NAMES_MOST = 20000, DEPTH_MOST = 100, TEMP_NAME = 40, LIST_MOST = 4096 };
static const uint64_t BYTES_MOST = (uint64_t)512 << 20;

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_dir(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    return d;
}

/* ---- how much it is ---- */

struct amount {
    size_t names;
    uint64_t bytes;
};

static int measure(int above, const char *name, int depth, struct amount *a,
                   const struct move_links *links)
{
    struct stat st;
    OWN(dir) DIR *d = open_dir(above, name);
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d));) {
        if (is_dots(e->d_name))
            continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        a->bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        if (++a->names > NAMES_MOST || a->bytes > BYTES_MOST || depth > DEPTH_MOST)
            return -EXDEV;
        if (S_ISREG(st.st_mode) && st.st_nlink > 1)
            links->copy(links->arg, dirfd(d), e->d_name);
        int err = S_ISDIR(st.st_mode) ? measure(dirfd(d), e->d_name, depth + 1, a, links) : 0;
        if (err < 0)
            return err;
    }
    return 0;
}

/* ---- folders that look alike ---- */

static int copy_attributes(int from, int to)
{
    char names[LIST_MOST], value[LIST_MOST];
    ssize_t n = flistxattr(from, names, sizeof(names));
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
        ssize_t len =
            strstr(names + i, ".overlay.") ? -1 : fgetxattr(from, names + i, value, sizeof(value));
        if (len >= 0 && fsetxattr(to, names + i, value, (size_t)len, 0) < 0 && errno != EPERM &&
            errno != EOPNOTSUPP)
            return -errno;
    }
    return n < 0 && errno != EOPNOTSUPP ? -errno : 0;
}

int copy_looks(int from, int to, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    int err = copy_attributes(from, to);
    if (err < 0)
        return err;
    if (fchown(to, st->st_uid, st->st_gid) < 0 && errno != EPERM)
        return -errno;
    return fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0 ? -errno : 0;
}

/* ---- moving ---- */

static int move_inside(int from, int to, int depth);

/* One folder with what is in it. The new one may exist: when moving back, some do. */
static int move_one(int from, const char *name, int to, int depth)
{
    struct stat st;
    OWN(fd) int old = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (old < 0 || fstat(old, &st) < 0 || (mkdirat(to, name, 0700) < 0 && errno != EEXIST))
        return -errno;
    OWN(fd) int new = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (new < 0)
        return -errno;
    int err = move_inside(old, new, depth + 1);
    err = err < 0 ? err : copy_looks(old, new, &st);
    return err < 0 ? err : unlinkat(from, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int move_inside(int from, int to, int depth)
{
    struct stat st;
    OWN(dir) DIR *d = open_dir(from, ".");
    if (!d || depth > DEPTH_MOST + 1)
        return d ? -EXDEV : -errno;
    for (struct dirent *e; (e = readdir(d));) {
        if (is_dots(e->d_name))
            continue;
        if (fstatat(from, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return -errno;
        int err = S_ISDIR(st.st_mode) ? move_one(from, e->d_name, to, depth)
                  : renameat(from, e->d_name, to, e->d_name) < 0 ? -errno
                                                                 : 0;
        if (err < 0)
            return err;
    }
    return 0;
}

/* Whether the new name is free, or an empty folder. */
static int check_target(int to, const char *as, unsigned flags)
{
    struct stat st;
    size_t n = 0;
    if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (flags)
        return -EEXIST;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    OWN(dir) DIR *d = open_dir(to, as);
    if (!d)
        return -errno;
    while (readdir(d))
        n++;
    return n > 2 ? -ENOTEMPTY : 0;
}

static int make_temp(int to, char out[TEMP_NAME])
{
    static unsigned number;
    for (int i = 0; i < 100; i++) {
        snprintf(out, TEMP_NAME, ".buckle-moving-%d-%u", (int)getpid(), ++number);
        if (mkdirat(to, out, 0700) == 0)
            return openat(to, out, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static int move_all(int old, const struct stat *st, int temp, int from, const char *name)
{
    int err = move_inside(old, temp, 0);
    err = err < 0 ? err : copy_looks(old, temp, st);
    return err < 0 ? err : unlinkat(from, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int move_folder(int from, const char *name, int to, const char *as, unsigned flags,
                const struct move_links *links)
{
    struct stat st;
    struct amount amount = {0};
    char temp_name[TEMP_NAME];
    OWN(fd) int old = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (old < 0 || fstat(old, &st) < 0)
        return -EXDEV;
    int err = check_target(to, as, flags);
    if (err < 0 || measure(from, name, 0, &amount, links) < 0)
        return err < 0 ? err : -EXDEV;
    OWN(fd) int temp = make_temp(to, temp_name);
    if (temp < 0)
        return -EXDEV;
    if (move_all(old, &st, temp, from, name) == 0 &&
        syscall(SYS_renameat2, to, temp_name, to, as, flags) == 0)
        return 0;
    /* back again; the folder itself goes last */
    OWN(fd) int again = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (again < 0 && mkdirat(from, name, 0700) == 0)
        again = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (again >= 0 && move_inside(temp, again, 0) == 0) {
        (void)copy_looks(temp, again, &st);
        unlinkat(to, temp_name, AT_REMOVEDIR);
    }
    return -EXDEV;
}
