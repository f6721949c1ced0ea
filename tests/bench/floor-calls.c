/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The minimum cost of a judged call: bench-floor-calls HOW COMMAND…
 *
 * Sends the command's calls that a judge would check to a listener. HOW selects what the listener
 * does with each:
 *
 *     continue   lets it continue unchecked: a round trip and nothing else, and nothing is safe
 *     here       reads the path and makes the call in the command's place, as a judge must, but
 *                only for opens to write, unlink, mkdir and rmdir; paths are relative to the folder
 *                in which this was started
 *     poll       the same, but waits in poll(), like a process with other input
 *     perform    every call that names a file, from the command's working directory
 *
 * Nothing is decided or pinned, and requests are not checked for validity.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/host/kabi.h"

enum { PATH_PART = 256 };
enum how { CONTINUE, HERE, POLL, PERFORM };

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor-calls: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- the filter ---- */

/* What is performed here, what is performed as well with perform, and what only continues. */
static const int made[] = {
    SYS_mkdirat, SYS_unlinkat,
#ifdef SYS_mkdir
    SYS_mkdir,   SYS_unlink,   SYS_rmdir,
#endif
};
static const int made_too[] = {
    SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_fchmodat, SYS_utimensat, SYS_truncate,
#ifdef SYS_rename
    SYS_rename,    SYS_link,   SYS_symlink,   SYS_chmod,
#endif
};
static const int let_go[] = {SYS_fchmod, SYS_umask, SYS_socket, SYS_connect};
enum {
    MADE = sizeof(made) / sizeof(made[0]),
    MADE_TOO = sizeof(made_too) / sizeof(made_too[0]),
    LET_GO = sizeof(let_go) / sizeof(let_go[0])
};

static struct sock_filter program[2 * (MADE + MADE_TOO + LET_GO) + 8];
static unsigned short length;

static void emit(struct sock_filter step)
{
    program[length++] = step;
}

static void ask_about(const int *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1));
        emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
}

/* Returns the listener. */
static int install(enum how how)
{
    emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ask_about(made, MADE);
    if (how == CONTINUE || how == PERFORM) {
        ask_about(made_too, MADE_TOO);
        ask_about(let_go, LET_GO);
    }
    emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3));
    emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                      offsetof(struct seccomp_data, args[2])));
    emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, KABI_OPEN_WRITES, 0, 1));
    emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog filter = {.len = length, .filter = program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                        &filter);
}

/* ---- answering ---- */

static int read_path(const struct seccomp_notif *n, __u64 where, char *path)
{
    struct iovec here = {path, PATH_PART}, there = {(void *)(uintptr_t)where, PATH_PART};
    ssize_t got = process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0);
    return got > 0 && memchr(path, '\0', (size_t)got) ? 0 : -1;
}

/* Passes a descriptor, which also answers the call. */
static void hand_over(int listener, const struct seccomp_notif *n, int fd)
{
    struct seccomp_notif_addfd add = {
        .id = n->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (__u32)fd};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT)
        give_up("NOTIF_ADDFD");
    close(fd);
}

/* The caller's folder in /proc, kept open from one call to the next. */
static int folder_of(__u32 pid)
{
    static __u32 whose;
    static int folder = -1;
    char name[24];
    if (pid == whose)
        return folder;
    if (folder >= 0)
        close(folder);
    snprintf(name, sizeof(name), "/proc/%u", pid);
    whose = pid;
    return folder = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The base of the command's path: a descriptor to close, or AT_FDCWD. */
static int base_of(const struct seccomp_notif *n, int dirfd, const char *path)
{
    char name[24] = "cwd";
    if (path[0] == '/')
        return AT_FDCWD;
    if (dirfd != AT_FDCWD)
        snprintf(name, sizeof(name), "fd/%d", dirfd);
    return openat(folder_of(n->pid), name, O_PATH | O_CLOEXEC);
}

/* A name given by the command. */
struct name {
    int base;
    char path[PATH_PART];
};

static int take_name(const struct seccomp_notif *n, enum how how, int dirfd, __u64 where,
                     struct name *out)
{
    out->base = AT_FDCWD;
    if (read_path(n, where, out->path) < 0)
        return -1;
    if (how == PERFORM)
        out->base = base_of(n, dirfd, out->path);
    return 0;
}

static void let_go_of(struct name *name)
{
    if (name->base >= 0)
        close(name->base);
}

/* Two names: moving and linking. */
static int make_pair(const struct seccomp_notif *n, const __u64 *a, bool at)
{
    struct name from, to = {.base = AT_FDCWD};
    int got = -1;
    if (take_name(n, PERFORM, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0], &from) == 0 &&
        take_name(n, PERFORM, at ? (int)a[2] : AT_FDCWD, at ? a[3] : a[1], &to) == 0) {
        bool links = n->data.nr == SYS_linkat;
#ifdef SYS_link
        links |= n->data.nr == SYS_link;
#endif
        unsigned flags = at ? (unsigned)a[4] : 0;
        got = links ? linkat(from.base, from.path, to.base, to.path, (int)flags)
                    : (int)syscall(SYS_renameat2, from.base, from.path, to.base, to.path, flags);
    }
    let_go_of(&from);
    let_go_of(&to);
    return got;
}

static int make_symlink(const struct seccomp_notif *n, const __u64 *a, bool at)
{
    char text[PATH_PART];
    struct name to;
    if (read_path(n, a[0], text) < 0 ||
        take_name(n, PERFORM, at ? (int)a[1] : AT_FDCWD, at ? a[2] : a[1], &to) < 0)
        return -1;
    int got = symlinkat(text, to.base, to.path);
    let_go_of(&to);
    return got;
}

static int set_times(const struct seccomp_notif *n, const __u64 *a, const struct name *name)
{
    struct timespec times[2];
    struct iovec here = {times, sizeof(times)}, there = {(void *)(uintptr_t)a[1], sizeof(times)};
    if (a[1] && process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) != sizeof(times))
        return -1;
    return utimensat(name->base, name->path, a[1] ? times : NULL, (int)a[2]);
}

/* One name; a: the arguments from it on. */
static int make_one(const struct seccomp_notif *n, const __u64 *a, const struct name *name)
{
    switch (n->data.nr) {
    case SYS_openat:
        return openat(name->base, name->path, (int)a[1] | O_CLOEXEC, (mode_t)a[2]);
#ifdef SYS_mkdir
    case SYS_mkdir:
#endif
    case SYS_mkdirat:
        return mkdirat(name->base, name->path, (mode_t)a[1]);
#ifdef SYS_unlink
    case SYS_unlink:
        return unlinkat(name->base, name->path, 0);
    case SYS_rmdir:
        return unlinkat(name->base, name->path, AT_REMOVEDIR);
    case SYS_chmod:
#endif
    case SYS_fchmodat:
        return fchmodat(name->base, name->path, (mode_t)a[1], 0);
    case SYS_utimensat:
        return set_times(n, a, name);
    default:
        return unlinkat(name->base, name->path, (int)a[1]);
    }
}

static bool is_at(int nr)
{
    return nr == SYS_openat || nr == SYS_mkdirat || nr == SYS_unlinkat || nr == SYS_fchmodat ||
           nr == SYS_utimensat || nr == SYS_linkat || nr == SYS_renameat2 || nr == SYS_symlinkat;
}

static bool is_any(int nr, const int *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == nr)
            return true;
    return false;
}

static bool is_pair(int nr)
{
#ifdef SYS_link
    if (nr == SYS_link || nr == SYS_rename)
        return true;
#endif
    return nr == SYS_linkat || nr == SYS_renameat2;
}

static bool is_symlink(int nr)
{
#ifdef SYS_symlink
    if (nr == SYS_symlink)
        return true;
#endif
    return nr == SYS_symlinkat;
}

/* Makes the call. Returns true if that answered it. */
static bool perform(int listener, const struct seccomp_notif *n, enum how how,
                    struct seccomp_notif_resp *answer)
{
    const __u64 *a = n->data.args;
    bool at = is_at(n->data.nr);
    struct name name;
    int got = -1;
    bool nameless = n->data.nr == SYS_utimensat && a[1] == 0; /* a descriptor's times */
    if (nameless || n->data.nr == SYS_truncate || is_any(n->data.nr, let_go, LET_GO)) {
        answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        return false;
    }
    if (is_pair(n->data.nr)) {
        got = make_pair(n, a, at);
    } else if (is_symlink(n->data.nr)) {
        got = make_symlink(n, a, at);
    } else if (take_name(n, how, at ? (int)a[0] : AT_FDCWD, a[at ? 1 : 0], &name) == 0) {
        got = make_one(n, a + (at ? 1 : 0), &name);
        int err = errno;
        let_go_of(&name);
        errno = err;
    }
    answer->error = got < 0 ? -errno : 0;
    if (n->data.nr != SYS_openat || got < 0)
        return false;
    hand_over(listener, n, got);
    return true;
}

/* Waits like a process with other input. */
static void wait_for(int listener)
{
    struct pollfd fds[] = {{listener, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR)
        ;
}

static void __attribute__((noreturn)) serve(int listener, enum how how)
{
    struct seccomp_notif n;
    for (;;) {
        memset(&n, 0, sizeof(n));
        if (how == POLL)
            wait_for(listener);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
            if (errno == ENOENT || errno == EINTR)
                continue;
            give_up("NOTIF_RECV");
        }
        struct seccomp_notif_resp answer = {.id = n.id};
        if (how == CONTINUE)
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        else if (perform(listener, &n, how, &answer))
            continue;
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT)
            give_up("NOTIF_SEND");
    }
}

/* ---- starting ---- */

/* The command ended: exit with its status. */
static void on_end(int signal)
{
    int status;
    (void)signal;
    if (wait(&status) > 0)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 124);
}

/* Sends the number of its listener, and continues once that was received. */
static void __attribute__((noreturn)) become(char **argv, enum how how, int to)
{
    char taken;
    int listener = install(how);
    if (listener < 0 || write(to, &listener, sizeof(listener)) < 0 || read(to, &taken, 1) != 1)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    static const char *const words[] = {
        [CONTINUE] = "continue", [HERE] = "here", [POLL] = "poll", [PERFORM] = "perform"};
    int ends[2], number;
    enum how how = CONTINUE;
    while (argc > 2 && how <= PERFORM && strcmp(argv[1], words[how]) != 0)
        how++;
    if (argc < 3 || how > PERFORM)
        give_up("usage: bench-floor-calls continue|here|poll|perform COMMAND…");
    signal(SIGCHLD, on_end);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socketpair");
    pid_t pid = fork();
    if (pid == 0)
        become(argv + 2, how, ends[1]);
    if (pid < 0 || read(ends[0], &number, sizeof(number)) != sizeof(number))
        give_up("fork");
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    if (listener < 0)
        give_up("pidfd_getfd");
    /* without it both would run on different cores; kernels before 6.6 lack it */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    if (write(ends[0], "", 1) != 1)
        give_up("write");
    serve(listener, how);
}
