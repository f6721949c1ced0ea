/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Opening, creating, moving and removing. */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe.h"
#include "legacy.h"

/* ---- opening ---- */

#define OPEN(id, flags)                                                                            \
    static long do_open_##id(char **a)                                                             \
    {                                                                                              \
        return probe_leave_open(syscall(SYS_open, a[0], flags, 0666));                             \
    }                                                                                              \
    static long do_openat_##id(char **a)                                                           \
    {                                                                                              \
        return probe_leave_open(syscall(SYS_openat, HERE, a[0], flags, 0666));                     \
    }
OPEN(read, O_RDONLY)
OPEN(nonblock, O_RDONLY | O_NONBLOCK)
OPEN(write, O_WRONLY)
OPEN(rdwr, O_RDWR)
OPEN(append, O_WRONLY | O_APPEND)
OPEN(trunc, O_RDONLY | O_TRUNC)
OPEN(create, O_WRONLY | O_CREAT)
OPEN(create_read, O_RDONLY | O_CREAT)
OPEN(create_excl, O_WRONLY | O_CREAT | O_EXCL)
OPEN(tmpfile, O_WRONLY | O_TMPFILE)
#undef OPEN

static long do_creat(char **a)
{
    return probe_leave_open(syscall(SYS_creat, a[0], 0666));
}

static long do_truncate(char **a)
{
    return syscall(SYS_truncate, a[0], 1);
}

/* ---- names ---- */

static long do_unlink(char **a)
{
    return syscall(SYS_unlink, a[0]);
}

static long do_unlinkat(char **a)
{
    return syscall(SYS_unlinkat, HERE, a[0], 0);
}

static long do_rmdir(char **a)
{
    return syscall(SYS_rmdir, a[0]);
}

static long do_rmdirat(char **a)
{
    return syscall(SYS_unlinkat, HERE, a[0], AT_REMOVEDIR);
}

static long do_rename(char **a)
{
    return syscall(SYS_rename, a[0], a[1]);
}

static long do_renameat(char **a)
{
    return syscall(SYS_renameat, HERE, a[0], HERE, a[1]);
}

static long do_renameat2(char **a)
{
    return syscall(SYS_renameat2, HERE, a[0], HERE, a[1], 0);
}

static long do_rename_exchange(char **a)
{
    return syscall(SYS_renameat2, HERE, a[0], HERE, a[1], RENAME_EXCHANGE);
}

static long do_rename_noreplace(char **a)
{
    return syscall(SYS_renameat2, HERE, a[0], HERE, a[1], RENAME_NOREPLACE);
}

static long do_link(char **a)
{
    return syscall(SYS_link, a[0], a[1]);
}

static long do_linkat(char **a)
{
    return syscall(SYS_linkat, HERE, a[0], HERE, a[1], 0);
}

static long do_linkat_follow(char **a)
{
    return syscall(SYS_linkat, HERE, a[0], HERE, a[1], AT_SYMLINK_FOLLOW);
}

static long do_symlink(char **a)
{
    return syscall(SYS_symlink, a[0], a[1]);
}

static long do_symlinkat(char **a)
{
    return syscall(SYS_symlinkat, a[0], HERE, a[1]);
}

static long do_mkdir(char **a)
{
    return syscall(SYS_mkdir, a[0], 0777);
}

static long do_mkdirat(char **a)
{
    return syscall(SYS_mkdirat, HERE, a[0], 0777);
}

/* The device is /dev/null's. */
#define MKNOD(id, mode)                                                                            \
    static long do_mknod_##id(char **a)                                                            \
    {                                                                                              \
        return syscall(SYS_mknod, a[0], (mode) | MODE, makedev(1, 3));                             \
    }                                                                                              \
    static long do_mknodat_##id(char **a)                                                          \
    {                                                                                              \
        return syscall(SYS_mknodat, HERE, a[0], (mode) | MODE, makedev(1, 3));                     \
    }
MKNOD(fifo, S_IFIFO)
MKNOD(file, S_IFREG)
MKNOD(socket, S_IFSOCK)
MKNOD(dev, S_IFCHR)
#undef MKNOD

const struct operation name_operations[] = {
    {"open-read", 1, do_open_read},
    {"openat-read", 1, do_openat_read},
    {"open-nonblock", 1, do_open_nonblock},
    {"openat-nonblock", 1, do_openat_nonblock},
    {"open-write", 1, do_open_write},
    {"openat-write", 1, do_openat_write},
    {"open-rdwr", 1, do_open_rdwr},
    {"openat-rdwr", 1, do_openat_rdwr},
    {"open-append", 1, do_open_append},
    {"openat-append", 1, do_openat_append},
    {"open-trunc", 1, do_open_trunc},
    {"openat-trunc", 1, do_openat_trunc},
    {"open-create", 1, do_open_create},
    {"openat-create", 1, do_openat_create},
    {"open-create-read", 1, do_open_create_read},
    {"openat-create-read", 1, do_openat_create_read},
    {"open-create-excl", 1, do_open_create_excl},
    {"openat-create-excl", 1, do_openat_create_excl},
    {"open-tmpfile", 1, do_open_tmpfile},
    {"openat-tmpfile", 1, do_openat_tmpfile},
    {"creat", 1, do_creat},
    {"truncate", 1, do_truncate},
    {"unlink", 1, do_unlink},
    {"unlinkat", 1, do_unlinkat},
    {"rmdir", 1, do_rmdir},
    {"rmdirat", 1, do_rmdirat},
    {"rename", 2, do_rename},
    {"renameat", 2, do_renameat},
    {"renameat2", 2, do_renameat2},
    {"rename-exchange", 2, do_rename_exchange},
    {"rename-noreplace", 2, do_rename_noreplace},
    {"link", 2, do_link},
    {"linkat", 2, do_linkat},
    {"linkat-follow", 2, do_linkat_follow},
    {"symlink", 2, do_symlink},
    {"symlinkat", 2, do_symlinkat},
    {"mkdir", 1, do_mkdir},
    {"mkdirat", 1, do_mkdirat},
    {"mknod-fifo", 1, do_mknod_fifo},
    {"mknodat-fifo", 1, do_mknodat_fifo},
    {"mknod-file", 1, do_mknod_file},
    {"mknodat-file", 1, do_mknodat_file},
    {"mknod-socket", 1, do_mknod_socket},
    {"mknodat-socket", 1, do_mknodat_socket},
    {"mknod-dev", 1, do_mknod_dev},
    {"mknodat-dev", 1, do_mknodat_dev},
    {NULL, 0, NULL},
};
