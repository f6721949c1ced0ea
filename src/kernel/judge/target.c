/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reading the target. A request names a thread by tid, and tids are reused: what was read counts
 * only if the request is still valid afterwards. Callers check that once, after everything has been
 * copied and pinned.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/target.h"

bool request_is_valid(const struct judge *j, const struct request *r)
{
    return ioctl(j->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &r->id) == 0;
}

/* For containers that refuse process_vm_readv(): reads the same memory as a file. The judge's
 * working directory is the host's /proc. */
static int read_as_file(const struct request *r, uint64_t addr, void *to, size_t n)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/mem", r->tid);
    OWN(fd) int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -UNREADABLE;
    return pread(fd, to, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

int target_read(const struct request *r, uint64_t addr, void *to, size_t n)
{
    struct iovec ours = {to, n}, theirs = {(void *)(uintptr_t)addr, n};
    ssize_t got = process_vm_readv(r->tid, &ours, 1, &theirs, 1, 0);
    if (got < 0)
        return errno == EFAULT ? -EFAULT : read_as_file(r, addr, to, n);
    return (size_t)got == n ? 0 : -EFAULT;
}

#if defined(__aarch64__)
#define ADDRESS_BITS UINT64_C(0x00ffffffffffffff) /* the top byte may be a tag */
#else
#define ADDRESS_BITS UINT64_MAX
#endif

/* The descriptor stays with the memory that it was opened for, even if the tid is reused: it was
 * the target's if the request is valid after opening it. If the target sees the same /proc, the
 * walls forbid opening it for writing, and only the tid is left. */
int target_write(const struct judge *j, const struct request *r, uint64_t addr, const void *from,
                 size_t n)
{
    char name[32];
    addr &= ADDRESS_BITS;
    if (n == 0)
        return 0;
    if (addr == 0 || addr > INT64_MAX - n)
        return -EFAULT;
    snprintf(name, sizeof(name), "%d/mem", r->tid);
    OWN(fd) int mem = openat(j->proc, name, O_WRONLY | O_CLOEXEC);
    if (mem < 0 && j->pid_ns)
        return -EPERM;
    if (!request_is_valid(j, r))
        return -EPERM;
    struct iovec ours = {(void *)(uintptr_t)from, n}, theirs = {(void *)(uintptr_t)addr, n};
    ssize_t put = mem < 0 ? process_vm_writev(r->tid, &ours, 1, &theirs, 1, 0)
                          : pwrite(mem, from, n, (off_t)addr);
    return put >= 0 && (size_t)put == n ? 0 : -EFAULT;
}

/* Reads page by page, because a string may end just before unmapped memory. Most strings are short,
 * and copying a whole page would take longer. */
int target_string(const struct request *r, uint64_t addr, char *to)
{
    enum { PAGE = 4096, SHORT = 256 };
    size_t have = 0;
    while (have < PATH_BYTES) {
        size_t n = PAGE - ((addr + have) & (PAGE - 1));
        if (have == 0 && n > SHORT)
            n = SHORT;
        if (n > PATH_BYTES - have)
            n = PATH_BYTES - have;
        int err = target_read(r, addr + have, to + have, n);
        if (err < 0)
            return err;
        const char *end = memchr(to + have, '\0', n);
        if (end)
            return (int)(end - to);
        have += n;
    }
    return -ENAMETOOLONG;
}

static int status_field(const struct judge *j, const struct request *r, const char *key, char *out,
                        size_t cap)
{
    return proc_status_field(j->proc, r->tid, key, out, cap);
}

/* Reads a set of signals from the text of /proc/TID/status. */
static bool signals_in(const char *text, const char *key, uint64_t *set)
{
    const char *at = proc_field(text, key);
    *set = at ? strtoull(at, NULL, 16) : 0;
    return at != NULL;
}

bool target_is_interrupted(const struct judge *j, const struct request *r)
{
    char text[4096];
    uint64_t own, shared, blocked;
    (void)proc_read(j->proc, text, sizeof(text), "%d/status", r->tid);
    return !signals_in(text, "\nSigPnd:", &own) || !signals_in(text, "\nShdPnd:", &shared) ||
           !signals_in(text, "\nSigBlk:", &blocked) || ((own | shared) & ~blocked);
}

/* For a process that changed its credentials and has not executed since: its fd folder belongs to
 * root, but the judge acts with its credentials. */
static int pin_copy(const struct judge *j, const struct request *r, int fd)
{
    char name[32];
    OWN(fd) int copy = target_take_fd(j, r, fd);
    if (copy < 0)
        return copy;
    snprintf(name, sizeof(name), "self/fd/%d", copy);
    int pin = openat(j->proc, name, O_PATH | O_CLOEXEC);
    return pin < 0 ? -EPERM : pin;
}

int target_pin_fd(const struct judge *j, const struct request *r, int fd)
{
    char name[64];
    if (fd < 0)
        return -EBADF;
    snprintf(name, sizeof(name), "%d/fd/%d", r->tid, fd);
    int pin = openat(j->proc, name, O_PATH | O_CLOEXEC);
    if (pin < 0 && errno == EACCES)
        return pin_copy(j, r, fd);
    if (pin < 0)
        return errno == ENOENT ? -EBADF : -EPERM;
    return pin;
}

bool target_fd_is_name(const struct judge *j, const struct request *r, int fd)
{
    char name[64];
    struct stat st;
    snprintf(name, sizeof(name), "%d/fd/%d", r->tid, fd);
    if (fstatat(j->proc, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return !(st.st_mode & 0600);
    OWN(fd) int copy = errno == EACCES ? target_take_fd(j, r, fd) : -1;
    return copy >= 0 && (fcntl(copy, F_GETFL) & O_PATH);
}

pid_t target_process(const struct judge *j, const struct request *r)
{
    char text[32];
    int err = status_field(j, r, "\nTgid:", text, sizeof(text));
    return err < 0 ? err : (pid_t)atoi(text);
}

/* Status lists a pid for each namespace from the reader's inwards. */
static pid_t inner_number(const struct judge *j, const struct request *r, const char *key)
{
    char text[128], *at = text;
    int err = status_field(j, r, key, text, sizeof(text));
    if (err < 0)
        return err;
    long n = strtol(at, &at, 10);
    for (unsigned i = 0; j->pid_ns && i < j->pid_depth; i++)
        n = strtol(at, &at, 10);
    return n > 0 ? (pid_t)n : -EPERM;
}

pid_t target_inner_process(const struct judge *j, const struct request *r)
{
    return inner_number(j, r, "\nNStgid:");
}

pid_t target_inner_thread(const struct judge *j, const struct request *r)
{
    return inner_number(j, r, "\nNSpid:");
}

/* For containers that refuse pidfd_getfd(): opens the same object again, with the access the target
 * has. This fails for sockets. */
static int open_once_more(const struct judge *j, const struct request *r, int fd)
{
    char name[64];
    struct stat st;
    snprintf(name, sizeof(name), "%d/fd/%d", r->tid, fd);
    if (fstatat(j->proc, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? -EBADF : -EPERM;
    bool reads = st.st_mode & S_IRUSR, writes = st.st_mode & S_IWUSR;
    if (!reads && !writes)
        return -EBADF; /* O_PATH */
    int mode = reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
    OWN(fd) int copy = openat(j->proc, name, mode | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (copy < 0 || fcntl(copy, F_SETFL, 0) < 0)
        return -EPERM;
    return steal_fd(&copy);
}

/* For a socket: copies the one that the judge made. */
static int kept_copy(const struct judge *j, const struct request *r, int fd)
{
    char name[64], link[64];
    unsigned long number;
    snprintf(name, sizeof(name), "%d/fd/%d", r->tid, fd);
    ssize_t n = readlinkat(j->proc, name, link, sizeof(link) - 1);
    if (n < 0)
        return errno == ENOENT ? -EBADF : -EPERM;
    link[n] = '\0';
    return sscanf(link, "socket:[%lu]", &number) == 1
               ? kept_socket_copy((struct kept_sockets *)&j->net.kept, number)
               : -ENOENT;
}

int target_pidfd(const struct request *r)
{
    enum { THREAD = O_EXCL }; /* PIDFD_THREAD */
    return (int)syscall(SYS_pidfd_open, r->tid, THREAD);
}

/* Before 6.9 there are pidfds of processes only: then opens the thread's process. */
static int open_task(const struct judge *j, const struct request *r)
{
    int fd = target_pidfd(r);
    if (fd >= 0 || errno != EINVAL)
        return fd < 0 ? -EPERM : fd;
    pid_t pid = target_process(j, r);
    if (pid < 0)
        return pid;
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -EPERM : fd;
}

int target_take_fd(const struct judge *j, const struct request *r, int fd)
{
    OWN(fd) int pidfd = open_task(j, r);
    if (pidfd < 0)
        return pidfd;
    int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    if (copy >= 0 || errno == EBADF)
        return copy < 0 ? -EBADF : copy;
    copy = j->net.makes_sockets ? kept_copy(j, r, fd) : -ENOENT;
    return copy == -ENOENT ? open_once_more(j, r, fd) : copy;
}
