/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Attempts exactly one operation and says what came of it: "ok", or the name of the errno.
 *
 *     probe OPERATION ARGUMENT…
 *     probe --batch             one operation a line, words apart by tabs, bytes as \xNN
 *     probe --list
 *
 * Every form of a call is an operation of its own and goes to the kernel directly, so that no
 * library chooses another. Descriptors that an operation works on are opened for reading only.
 * Linked statically: it has to start in any sandbox.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "probe.h"
#include "legacy.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#endif

enum { HERE = AT_FDCWD, MODE = 0640, PATIENCE = 10 };

static const char attribute[] = "user.probe";

/* Closes fd; the errno stays. */
static long finish(int fd, long got)
{
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

/* ---- opening ---- */

static long leave_open(long fd)
{
    if (fd >= 0)
        close((int)fd);
    return fd < 0 ? -1 : 0;
}

#define OPEN(id, flags)                                                                            \
    static long do_open_##id(char **a)                                                             \
    {                                                                                              \
        return leave_open(syscall(SYS_open, a[0], flags, 0666));                                   \
    }                                                                                              \
    static long do_openat_##id(char **a)                                                           \
    {                                                                                              \
        return leave_open(syscall(SYS_openat, HERE, a[0], flags, 0666));                           \
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
    return leave_open(syscall(SYS_creat, a[0], 0666));
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

/* ---- attributes ---- */

/* Runs work on a descriptor that can only read. */
static long with_reader(const char *path, long (*work)(int fd))
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long got = work(fd);
    int err = errno;
    close(fd);
    errno = err;
    return got;
}

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
    return with_reader(a[0], fchmod_of);
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
    return with_reader(a[0], fchmodat2_empty_of);
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
    return with_reader(a[0], fchown_of);
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
    return with_reader(a[0], fchownat_empty_of);
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
    return with_reader(a[0], utimensat_of);
}

static long do_setxattr(char **a)
{
    return syscall(SYS_setxattr, a[0], attribute, "v", 1, 0);
}

static long do_lsetxattr(char **a)
{
    return syscall(SYS_lsetxattr, a[0], attribute, "v", 1, 0);
}

static long fsetxattr_of(int fd)
{
    return syscall(SYS_fsetxattr, fd, attribute, "v", 1, 0);
}

static long do_fsetxattr(char **a)
{
    return with_reader(a[0], fsetxattr_of);
}

static long do_setxattrat(char **a)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } args = {(uint64_t)(uintptr_t) "v", 1, 0};
    return syscall(SYS_setxattrat, HERE, a[0], 0, attribute, &args, sizeof(args));
}

static long do_removexattr(char **a)
{
    return syscall(SYS_removexattr, a[0], attribute);
}

static long do_lremovexattr(char **a)
{
    return syscall(SYS_lremovexattr, a[0], attribute);
}

static long fremovexattr_of(int fd)
{
    return syscall(SYS_fremovexattr, fd, attribute);
}

static long do_fremovexattr(char **a)
{
    return with_reader(a[0], fremovexattr_of);
}

static long do_removexattrat(char **a)
{
    return syscall(SYS_removexattrat, HERE, a[0], 0, attribute);
}

static long setflags_of(int fd)
{
    int flags = FS_NODUMP_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long do_setflags(char **a)
{
    return with_reader(a[0], setflags_of);
}

static long fssetxattr_of(int fd)
{
    struct fsxattr x = {.fsx_xflags = FS_XFLAG_NODUMP};
    return ioctl(fd, FS_IOC_FSSETXATTR, &x);
}

static long do_fssetxattr(char **a)
{
    return with_reader(a[0], fssetxattr_of);
}

/* ---- looking ---- */

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
    return fd < 0 ? -1 : finish(fd, syscall(SYS_inotify_add_watch, fd, a[0], IN_OPEN) < 0 ? -1 : 0);
}

/* Through a descriptor that only names the file. */
static long with_name(const char *path, int flags, long (*work)(int fd))
{
    int fd = (int)syscall(SYS_openat, HERE, path, O_PATH | O_CLOEXEC | flags);
    return fd < 0 ? -1 : finish(fd, work ? work(fd) : 0);
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
        return syscall(SYS_##call, a[0], attribute, value, sizeof(value));                         \
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
    return syscall(SYS_fgetxattr, fd, attribute, value, sizeof(value));
}

static long do_fgetxattr(char **a)
{
    return with_reader(a[0], fgetxattr_of);
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
    return with_reader(a[0], flistxattr_of);
}

static long do_listxattrat(char **a)
{
    char value[100];
    return syscall(SYS_listxattrat, HERE, a[0], 0, value, sizeof(value));
}

/* ---- sockets ---- */

static socklen_t address_of(const char *path, struct sockaddr_un *to)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof(to->sun_path))
        return 0;
    memcpy(to->sun_path, path, n + 1);
    if (path[0] == '@')
        to->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (path[0] != '@'));
}

static long with_socket(const char *path, int type, long call)
{
    struct sockaddr_un to;
    socklen_t n = address_of(path, &to);
    int fd = n ? (int)syscall(SYS_socket, AF_UNIX, type, 0) : -1;
    if (n == 0)
        errno = ENAMETOOLONG;
    return fd < 0 ? -1 : finish(fd, syscall(call, fd, &to, n));
}

static long do_connect_unix(char **a)
{
    return with_socket(a[0], SOCK_STREAM, SYS_connect);
}

static long do_connect_seqpacket(char **a)
{
    return with_socket(a[0], SOCK_SEQPACKET, SYS_connect);
}

static long do_connect_dgram(char **a)
{
    return with_socket(a[0], SOCK_DGRAM, SYS_connect);
}

static long do_bind_unix(char **a)
{
    return with_socket(a[0], SOCK_STREAM, SYS_bind);
}

static long do_bind_dgram(char **a)
{
    return with_socket(a[0], SOCK_DGRAM, SYS_bind);
}

static long do_socket_dgram(char **a)
{
    (void)a;
    return leave_open(syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0));
}

static long do_socket_raw(char **a)
{
    (void)a;
    return leave_open(syscall(SYS_socket, AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static long do_socketpair_dgram(char **a)
{
    int fd[2];
    (void)a;
    return syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, fd);
}

/* A message with an address, in each form, through a socket or one end of a pair. */
static long send_to(const char *path, long call, bool pair)
{
    struct sockaddr_un to;
    struct iovec one = {(void *)(uintptr_t) "x", 1};
    socklen_t n = address_of(path, &to);
    struct mmsghdr m = {
        .msg_hdr = {.msg_name = &to, .msg_namelen = n, .msg_iov = &one, .msg_iovlen = 1}};
    int fd[2] = {-1, -1};
    if (pair ? syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, fd) < 0
             : (fd[0] = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0)) < 0)
        return -1;
    long got = call == SYS_sendto    ? syscall(call, fd[0], "x", 1, 0, &to, n)
               : call == SYS_sendmsg ? syscall(call, fd[0], &m.msg_hdr, 0)
                                     : syscall(call, fd[0], &m, 1, 0);
    if (pair)
        close(fd[1]);
    return finish(fd[0], got < 0 ? -1 : 0);
}

static long do_sendto_unix(char **a)
{
    return send_to(a[0], SYS_sendto, false);
}

static long do_sendmsg_unix(char **a)
{
    return send_to(a[0], SYS_sendmsg, false);
}

static long do_sendmmsg_unix(char **a)
{
    return send_to(a[0], SYS_sendmmsg, false);
}

static long do_pair_sendto_unix(char **a)
{
    return send_to(a[0], SYS_sendto, true);
}

static long do_pair_sendmsg_unix(char **a)
{
    return send_to(a[0], SYS_sendmsg, true);
}

static long do_pair_connect_unix(char **a)
{
    struct sockaddr_un to;
    socklen_t n = address_of(a[0], &to);
    int fd[2];
    if (syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, fd) < 0)
        return -1;
    close(fd[1]);
    return finish(fd[0], syscall(SYS_connect, fd[0], &to, n));
}

static long do_exec(char **a)
{
    int channel[2], err = 0;
    if (pipe2(channel, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        char *argv[] = {a[0], NULL};
        execv(a[0], argv);
        err = errno;
        _exit(write(channel[1], &err, sizeof(err)) == sizeof(err) ? 127 : 126);
    }
    close(channel[1]);
    ssize_t n = read(channel[0], &err, sizeof(err));
    close(channel[0]);
    waitpid(child, NULL, 0);
    errno = err;
    return n == sizeof(err) ? -1 : 0;
}

/* ---- the table ---- */

static const struct operation operations[] = {
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
    {"connect-unix", 1, do_connect_unix},
    {"connect-seqpacket", 1, do_connect_seqpacket},
    {"connect-dgram", 1, do_connect_dgram},
    {"bind-unix", 1, do_bind_unix},
    {"bind-dgram", 1, do_bind_dgram},
    {"socket-dgram", 0, do_socket_dgram},
    {"socket-raw", 0, do_socket_raw},
    {"socketpair-dgram", 0, do_socketpair_dgram},
    {"sendto-unix", 1, do_sendto_unix},
    {"sendmsg-unix", 1, do_sendmsg_unix},
    {"sendmmsg-unix", 1, do_sendmmsg_unix},
    {"pair-sendto-unix", 1, do_pair_sendto_unix},
    {"pair-sendmsg-unix", 1, do_pair_sendmsg_unix},
    {"pair-connect-unix", 1, do_pair_connect_unix},
    {"exec", 1, do_exec},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]), WORDS = 4, LINE = 40000 };

/* 0 after an attempt, whatever came of it; 2 when there is no such operation. */
static int attempt(int n, char **words)
{
    const struct operation *found = NULL;
    for (size_t i = 0; n > 0 && i < OPERATIONS; i++)
        if (strcmp(operations[i].name, words[0]) == 0 && operations[i].nargs == n - 1)
            found = &operations[i];
    for (const struct operation *o = process_operations; n > 0 && o->name; o++)
        if (strcmp(o->name, words[0]) == 0 && o->nargs == n - 1)
            found = o;
    if (!found) {
        puts("no such operation");
        return 2;
    }
    alarm(PATIENCE); /* an operation that never ends is an answer, too: the signal's */
    errno = 0;
    puts(found->attempt(words + 1) < 0 ? strerrorname_np(errno) : "ok");
    return 0;
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Turns \xNN into bytes, in place. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (s[0] == '\\' && s[1] == 'x' && nibble(s[2]) >= 0 && nibble(s[3]) >= 0) {
            *to++ = (char)(nibble(s[2]) << 4 | nibble(s[3]));
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

static int batch(void)
{
    static char line[LINE];
    int status = 0;
    while (fgets(line, sizeof(line), stdin)) {
        char *words[WORDS], *rest = line;
        int n = 0;
        line[strcspn(line, "\n")] = '\0';
        for (char *word; n < WORDS && (word = strsep(&rest, "\t"));) {
            unescape(word);
            words[n++] = word;
        }
        status |= attempt(n, words);
        fflush(stdout);
        alarm(0);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--batch") == 0)
        return batch();
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < OPERATIONS; i++)
            printf("%s %d\n", operations[i].name, operations[i].nargs);
        for (const struct operation *o = process_operations; o->name; o++)
            printf("%s %d\n", o->name, o->nargs);
        return 0;
    }
    return attempt(argc - 1, argv + 1);
}
