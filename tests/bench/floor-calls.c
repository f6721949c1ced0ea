/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The least that a judged call can cost: bench-floor-calls continue|perform COMMAND…
 *
 * Sends the command's calls that a judge would be asked about to a listener, whose owner lets each
 * go on without a look: a round trip and nothing else, and nothing is safe that way. Or, for
 * writing opens, unlinks, mkdirs and rmdirs alone, reads the path and makes the call in the
 * command's place, as a judge must, but decides nothing; paths are then taken relative to the
 * folder in which this was started.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
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

#include "kernel/kabi.h"

enum { PATH_PART = 256 };

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor-calls: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- the filter ---- */

/* What perform() knows how to make, and what is only let go on. */
static const int made[] = {
    SYS_mkdirat, SYS_unlinkat,
#ifdef SYS_mkdir
    SYS_mkdir,   SYS_unlink,   SYS_rmdir,
#endif
};
static const int let_go[] = {
    SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_fchmodat, SYS_fchmod,
    SYS_utimensat, SYS_umask,  SYS_socket,    SYS_connect,  SYS_truncate,
#ifdef SYS_rename
    SYS_rename,    SYS_link,   SYS_symlink,   SYS_chmod,    SYS_renameat,
#endif
};
enum { MADE = sizeof(made) / sizeof(made[0]), LET_GO = sizeof(let_go) / sizeof(let_go[0]) };

static struct sock_filter program[2 * (MADE + LET_GO) + 8];
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
static int install(bool performing)
{
    emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ask_about(made, MADE);
    if (!performing)
        ask_about(let_go, LET_GO);
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

/* Hands over a descriptor, which is the answer as well. */
static void hand_over(int listener, const struct seccomp_notif *n, int fd)
{
    struct seccomp_notif_addfd add = {
        .id = n->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (__u32)fd};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT)
        give_up("NOTIF_ADDFD");
    close(fd);
}

/* Makes the call. True when that answered it. */
static bool perform(int listener, const struct seccomp_notif *n, struct seccomp_notif_resp *answer)
{
    char path[PATH_PART];
    bool at = n->data.nr == SYS_openat || n->data.nr == SYS_mkdirat || n->data.nr == SYS_unlinkat;
    const __u64 *args = n->data.args + (at ? 1 : 0);
    if (read_path(n, args[0], path) < 0) {
        answer->error = -EFAULT;
        return false;
    }
    int got;
    if (n->data.nr == SYS_openat)
        got = open(path, (int)args[1] | O_CLOEXEC, (mode_t)args[2]);
#ifdef SYS_mkdir
    else if (n->data.nr == SYS_mkdir)
        got = mkdir(path, (mode_t)args[1]);
    else if (n->data.nr == SYS_unlink)
        got = unlink(path);
    else if (n->data.nr == SYS_rmdir)
        got = rmdir(path);
#endif
    else if (n->data.nr == SYS_mkdirat)
        got = mkdir(path, (mode_t)args[1]);
    else
        got = unlinkat(AT_FDCWD, path, (int)args[1]);
    answer->error = got < 0 ? -errno : 0;
    if (n->data.nr != SYS_openat || got < 0)
        return false;
    hand_over(listener, n, got);
    return true;
}

static void __attribute__((noreturn)) serve(int listener, bool performing)
{
    struct seccomp_notif n;
    for (;;) {
        memset(&n, 0, sizeof(n));
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
            if (errno == ENOENT || errno == EINTR)
                continue;
            give_up("NOTIF_RECV");
        }
        struct seccomp_notif_resp answer = {.id = n.id};
        if (!performing)
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        else if (perform(listener, &n, &answer))
            continue;
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT)
            give_up("NOTIF_SEND");
    }
}

/* ---- starting ---- */

/* The command ended: so do we, with its status. */
static void on_end(int signal)
{
    int status;
    (void)signal;
    if (wait(&status) > 0)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 124);
}

/* Tells the number of its listener, and goes on when that was taken. */
static void __attribute__((noreturn)) become(char **argv, bool performing, int to)
{
    char taken;
    int listener = install(performing);
    if (listener < 0 || write(to, &listener, sizeof(listener)) < 0 || read(to, &taken, 1) != 1)
        _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    bool performing = argc > 2 && strcmp(argv[1], "perform") == 0;
    int ends[2], number;
    if (argc < 3 || (!performing && strcmp(argv[1], "continue") != 0))
        give_up("usage: bench-floor-calls continue|perform COMMAND…");
    signal(SIGCHLD, on_end);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socketpair");
    pid_t pid = fork();
    if (pid == 0)
        become(argv + 2, performing, ends[1]);
    if (pid < 0 || read(ends[0], &number, sizeof(number)) != sizeof(number))
        give_up("fork");
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    if (listener < 0)
        give_up("pidfd_getfd");
    /* without it both would meet on different cores; kernels before 6.6 lack it */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    if (write(ends[0], "", 1) != 1)
        give_up("write");
    serve(listener, performing);
}
