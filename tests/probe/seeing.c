/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What can be learned about a file without reading it, and extended attributes. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probe.h"
#include "legacy.h"

#ifndef SYS_listxattrat
#define SYS_listxattrat 465
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#endif

static long do_stat(char **a)
{
    struct stat st;
    return lstat(a[0], &st);
}

static long do_stat_path(char **a)
{
    struct stat st;
    return syscall(SYS_stat, a[0], &st);
}

static long do_lstat(char **a)
{
    struct stat st;
    return syscall(SYS_lstat, a[0], &st);
}

static long do_newfstatat(char **a)
{
    struct stat st;
    return syscall(SYS_newfstatat, HERE, a[0], &st, 0);
}

static long do_newfstatat_nofollow(char **a)
{
    struct stat st;
    return syscall(SYS_newfstatat, HERE, a[0], &st, AT_SYMLINK_NOFOLLOW);
}

static long do_statx(char **a)
{
    struct statx st;
    return syscall(SYS_statx, HERE, a[0], 0, STATX_BASIC_STATS, &st);
}

static long do_statfs(char **a)
{
    struct statfs fs;
    return syscall(SYS_statfs, a[0], &fs);
}

static long do_access(char **a)
{
    return syscall(SYS_access, a[0], F_OK);
}

static long do_access_read(char **a)
{
    return syscall(SYS_access, a[0], R_OK);
}

static long do_faccessat(char **a)
{
    return syscall(SYS_faccessat, HERE, a[0], F_OK);
}

static long do_faccessat2(char **a)
{
    return syscall(SYS_faccessat2, HERE, a[0], F_OK, AT_EACCESS);
}

static long do_faccessat2_read(char **a)
{
    return syscall(SYS_faccessat2, HERE, a[0], R_OK, AT_SYMLINK_NOFOLLOW);
}

static long do_readlink(char **a)
{
    char text[100];
    return syscall(SYS_readlink, a[0], text, sizeof(text));
}

static long do_readlinkat(char **a)
{
    char text[100];
    return syscall(SYS_readlinkat, HERE, a[0], text, sizeof(text));
}

static long do_watch(char **a)
{
    int fd = inotify_init1(IN_CLOEXEC);
    return fd < 0
               ? -1
               : probe_finish(fd, syscall(SYS_inotify_add_watch, fd, a[0], IN_OPEN) < 0 ? -1 : 0);
}

/* Through an O_PATH descriptor. */
static long with_name(const char *path, int flags, long (*work)(int fd))
{
    int fd = (int)syscall(SYS_openat, HERE, path, O_PATH | O_CLOEXEC | flags);
    return fd < 0 ? -1 : probe_finish(fd, work ? work(fd) : 0);
}

static long fstat_of(int fd)
{
    struct stat st;
    return syscall(SYS_fstat, fd, &st);
}

static long newfstatat_empty_of(int fd)
{
    struct stat st;
    return syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
}

static long statx_empty_of(int fd)
{
    struct statx st;
    return syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st);
}

static long readlinkat_empty_of(int fd)
{
    char text[100];
    return syscall(SYS_readlinkat, fd, "", text, sizeof(text));
}

static long do_open_path(char **a)
{
    return with_name(a[0], 0, NULL);
}

static long do_fstat_name(char **a)
{
    return with_name(a[0], 0, fstat_of);
}

static long do_newfstatat_empty(char **a)
{
    return with_name(a[0], 0, newfstatat_empty_of);
}

static long do_statx_empty(char **a)
{
    return with_name(a[0], 0, statx_empty_of);
}

static long do_readlinkat_empty(char **a)
{
    return with_name(a[0], O_NOFOLLOW, readlinkat_empty_of);
}

static long do_file_getattr(char **a)
{
    uint64_t attr[3] = {0};
    return syscall(SYS_file_getattr, HERE, a[0], attr, sizeof(attr), 0);
}

#define XATTR(call)                                                                                \
    static long do_##call(char **a)                                                                \
    {                                                                                              \
        char value[100];                                                                           \
        return syscall(SYS_##call, a[0], PROBE_ATTRIBUTE, value, sizeof(value));                   \
    }
XATTR(getxattr)
XATTR(lgetxattr)
#undef XATTR

static long do_getxattr_named(char **a)
{
    char value[100];
    return syscall(SYS_getxattr, a[0], a[1], value, sizeof(value));
}

static long do_lgetxattr_named(char **a)
{
    char value[100];
    return syscall(SYS_lgetxattr, a[0], a[1], value, sizeof(value));
}

static long do_setxattr_named(char **a)
{
    return syscall(SYS_setxattr, a[0], a[1], "v", 1, 0);
}

static long fgetxattr_of(int fd)
{
    char value[100];
    return syscall(SYS_fgetxattr, fd, PROBE_ATTRIBUTE, value, sizeof(value));
}

static long do_fgetxattr(char **a)
{
    return probe_with_reader(a[0], fgetxattr_of);
}

static long do_listxattr(char **a)
{
    char value[100];
    return syscall(SYS_listxattr, a[0], value, sizeof(value));
}

static long do_llistxattr(char **a)
{
    char value[100];
    return syscall(SYS_llistxattr, a[0], value, sizeof(value));
}

static long flistxattr_of(int fd)
{
    char value[100];
    return syscall(SYS_flistxattr, fd, value, sizeof(value));
}

static long do_flistxattr(char **a)
{
    return probe_with_reader(a[0], flistxattr_of);
}

static long do_listxattrat(char **a)
{
    char value[100];
    return syscall(SYS_listxattrat, HERE, a[0], 0, value, sizeof(value));
}

const struct operation seeing_operations[] = {
    {"stat", 1, do_stat},
    {"stat-path", 1, do_stat_path},
    {"lstat", 1, do_lstat},
    {"newfstatat", 1, do_newfstatat},
    {"newfstatat-nofollow", 1, do_newfstatat_nofollow},
    {"newfstatat-empty", 1, do_newfstatat_empty},
    {"fstat-name", 1, do_fstat_name},
    {"statx", 1, do_statx},
    {"statx-empty", 1, do_statx_empty},
    {"statfs", 1, do_statfs},
    {"access", 1, do_access},
    {"access-read", 1, do_access_read},
    {"faccessat", 1, do_faccessat},
    {"faccessat2", 1, do_faccessat2},
    {"faccessat2-read", 1, do_faccessat2_read},
    {"readlink", 1, do_readlink},
    {"readlinkat", 1, do_readlinkat},
    {"readlinkat-empty", 1, do_readlinkat_empty},
    {"watch", 1, do_watch},
    {"open-path", 1, do_open_path},
    {"file-getattr", 1, do_file_getattr},
    {"getxattr", 1, do_getxattr},
    {"lgetxattr", 1, do_lgetxattr},
    {"getxattr-named", 2, do_getxattr_named},
    {"lgetxattr-named", 2, do_lgetxattr_named},
    {"setxattr-named", 2, do_setxattr_named},
    {"fgetxattr", 1, do_fgetxattr},
    {"listxattr", 1, do_listxattr},
    {"llistxattr", 1, do_llistxattr},
    {"flistxattr", 1, do_flistxattr},
    {"listxattrat", 1, do_listxattrat},
    {NULL, 0, NULL},
};
