/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Mode, owner, times, extended attributes, flags. */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "probe.h"
#include "legacy.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif

static long do_chmod(char **a)
{
    return syscall(SYS_chmod, a[0], MODE);
}

static long do_chmod_setuid(char **a)
{
    return syscall(SYS_chmod, a[0], MODE | S_ISUID | S_ISGID);
}

static long fchmod_of(int fd)
{
    return syscall(SYS_fchmod, fd, MODE);
}

static long do_fchmod(char **a)
{
    return probe_with_reader(a[0], fchmod_of);
}

static long do_fchmodat(char **a)
{
    return syscall(SYS_fchmodat, HERE, a[0], MODE);
}

static long do_fchmodat2(char **a)
{
    return syscall(SYS_fchmodat2, HERE, a[0], MODE, 0);
}

static long do_fchmodat2_nofollow(char **a)
{
    return syscall(SYS_fchmodat2, HERE, a[0], MODE, AT_SYMLINK_NOFOLLOW);
}

static long fchmodat2_empty_of(int fd)
{
    return syscall(SYS_fchmodat2, fd, "", MODE, AT_EMPTY_PATH);
}

static long do_fchmodat2_empty(char **a)
{
    return probe_with_reader(a[0], fchmodat2_empty_of);
}

static long do_chown(char **a)
{
    return syscall(SYS_chown, a[0], getuid(), getgid());
}

static long do_lchown(char **a)
{
    return syscall(SYS_lchown, a[0], getuid(), getgid());
}

static long fchown_of(int fd)
{
    return syscall(SYS_fchown, fd, getuid(), getgid());
}

static long do_fchown(char **a)
{
    return probe_with_reader(a[0], fchown_of);
}

static long do_fchownat(char **a)
{
    return syscall(SYS_fchownat, HERE, a[0], getuid(), getgid(), 0);
}

static long fchownat_empty_of(int fd)
{
    return syscall(SYS_fchownat, fd, "", getuid(), getgid(), AT_EMPTY_PATH);
}

static long do_fchownat_empty(char **a)
{
    return probe_with_reader(a[0], fchownat_empty_of);
}

static const struct timespec then[2] = {{1000000, 0}, {1000000, 0}};

static long do_utime(char **a)
{
    struct utimbuf t = {1000000, 1000000};
    return syscall(SYS_utime, a[0], &t);
}

static long do_utimes(char **a)
{
    struct timeval t[2] = {{1000000, 0}, {1000000, 0}};
    return syscall(SYS_utimes, a[0], t);
}

static long do_futimesat(char **a)
{
    struct timeval t[2] = {{1000000, 0}, {1000000, 0}};
    return syscall(SYS_futimesat, HERE, a[0], t);
}

static long do_utimensat(char **a)
{
    return syscall(SYS_utimensat, HERE, a[0], then, 0);
}

static long do_utimensat_now(char **a)
{
    return syscall(SYS_utimensat, HERE, a[0], NULL, 0);
}

static long do_utimensat_nofollow(char **a)
{
    return syscall(SYS_utimensat, HERE, a[0], then, AT_SYMLINK_NOFOLLOW);
}

static long utimensat_of(int fd)
{
    return syscall(SYS_utimensat, fd, NULL, then, 0);
}

static long do_utimensat_fd(char **a)
{
    return probe_with_reader(a[0], utimensat_of);
}

static long do_setxattr(char **a)
{
    return syscall(SYS_setxattr, a[0], PROBE_ATTRIBUTE, "v", 1, 0);
}

static long do_lsetxattr(char **a)
{
    return syscall(SYS_lsetxattr, a[0], PROBE_ATTRIBUTE, "v", 1, 0);
}

static long fsetxattr_of(int fd)
{
    return syscall(SYS_fsetxattr, fd, PROBE_ATTRIBUTE, "v", 1, 0);
}

static long do_fsetxattr(char **a)
{
    return probe_with_reader(a[0], fsetxattr_of);
}

static long do_setxattrat(char **a)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } args = {(uint64_t)(uintptr_t) "v", 1, 0};
    return syscall(SYS_setxattrat, HERE, a[0], 0, PROBE_ATTRIBUTE, &args, sizeof(args));
}

static long do_removexattr(char **a)
{
    return syscall(SYS_removexattr, a[0], PROBE_ATTRIBUTE);
}

static long do_lremovexattr(char **a)
{
    return syscall(SYS_lremovexattr, a[0], PROBE_ATTRIBUTE);
}

static long fremovexattr_of(int fd)
{
    return syscall(SYS_fremovexattr, fd, PROBE_ATTRIBUTE);
}

static long do_fremovexattr(char **a)
{
    return probe_with_reader(a[0], fremovexattr_of);
}

static long do_removexattrat(char **a)
{
    return syscall(SYS_removexattrat, HERE, a[0], 0, PROBE_ATTRIBUTE);
}

static long setflags_of(int fd)
{
    int flags = FS_NODUMP_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long do_setflags(char **a)
{
    return probe_with_reader(a[0], setflags_of);
}

static long fssetxattr_of(int fd)
{
    struct fsxattr x = {.fsx_xflags = FS_XFLAG_NODUMP};
    return ioctl(fd, FS_IOC_FSSETXATTR, &x);
}

static long do_fssetxattr(char **a)
{
    return probe_with_reader(a[0], fssetxattr_of);
}

const struct operation attribute_operations[] = {
    {"chmod", 1, do_chmod},
    {"chmod-setuid", 1, do_chmod_setuid},
    {"fchmod", 1, do_fchmod},
    {"fchmodat", 1, do_fchmodat},
    {"fchmodat2", 1, do_fchmodat2},
    {"fchmodat2-nofollow", 1, do_fchmodat2_nofollow},
    {"fchmodat2-empty", 1, do_fchmodat2_empty},
    {"chown", 1, do_chown},
    {"lchown", 1, do_lchown},
    {"fchown", 1, do_fchown},
    {"fchownat", 1, do_fchownat},
    {"fchownat-empty", 1, do_fchownat_empty},
    {"utime", 1, do_utime},
    {"utimes", 1, do_utimes},
    {"futimesat", 1, do_futimesat},
    {"utimensat", 1, do_utimensat},
    {"utimensat-now", 1, do_utimensat_now},
    {"utimensat-nofollow", 1, do_utimensat_nofollow},
    {"utimensat-fd", 1, do_utimensat_fd},
    {"setxattr", 1, do_setxattr},
    {"lsetxattr", 1, do_lsetxattr},
    {"fsetxattr", 1, do_fsetxattr},
    {"setxattrat", 1, do_setxattrat},
    {"removexattr", 1, do_removexattr},
    {"lremovexattr", 1, do_lremovexattr},
    {"fremovexattr", 1, do_fremovexattr},
    {"removexattrat", 1, do_removexattrat},
    {"setflags", 1, do_setflags},
    {"fssetxattr", 1, do_fssetxattr},
    {NULL, 0, NULL},
};
