/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Checks whether system calls can be judged. A subject installs a filter for getppid(), hands over
 * the listener and calls getppid() twice. The probe answers the first call with a number and the
 * second with a file descriptor. The subject reports whether both arrived.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/host-probe.h"
#include "kernel/host/kabi.h"
#include "kernel/shared/fd-pass.h"

enum { ANSWER = 424242, ANSWER_MS = 1000 };

/* What the subject reports at the end, or instead of a listener. */
enum { PROBED_KILLABLE = 'k', PROBED_PLAIN = 'p', PROBED_TAKEN = 't', PROBED_NO = 'n' };
enum { GOT_NUMBER = 1, GOT_FD = 2 };

static int send_word(int sock, char word, int fd)
{
    return fd_pass_send(sock, &word, 1, fd);
}

/* Returns the report, with *fd or -1. */
static char receive_word(int sock, int *fd)
{
    char word;
    return fd_pass_receive(sock, &word, 1, fd) == 1 ? word : PROBED_NO;
}

/* ---- the subject ---- */

static int install(unsigned long more)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | more, &prog);
}

static void be_subject(int sock)
{
    struct stat got, null;
    char word = PROBED_KILLABLE;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = install(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL) {
        word = PROBED_PLAIN;
        listener = install(0);
    }
    if (listener < 0) {
        send_word(sock, errno == EBUSY || errno == EPERM ? PROBED_TAKEN : PROBED_NO, -1);
        return;
    }
    if (send_word(sock, word, listener) < 0)
        return;
    close(listener);
    char result = syscall(SYS_getppid) == ANSWER ? GOT_NUMBER : 0;
    int fd = (int)syscall(SYS_getppid);
    if (fd >= 0 && fstat(fd, &got) == 0 && stat("/dev/null", &null) == 0 &&
        got.st_rdev == null.st_rdev)
        result |= GOT_FD;
    send_word(sock, result, -1);
}

/* ---- the judge ---- */

static bool receive(int listener, struct seccomp_notif *n)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    memset(n, 0, sizeof(*n));
    return poll(&p, 1, ANSWER_MS) == 1 && (p.revents & POLLIN) &&
           ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, n) == 0 && n->data.nr == SYS_getppid;
}

static bool send_number(int listener, uint64_t id, int64_t value, int error)
{
    struct seccomp_notif_resp r = {.id = id, .val = value, .error = error};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r) == 0;
}

static void send_null(int listener, uint64_t id)
{
    OWN(fd) int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct seccomp_notif_addfd add = {
        .id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd};
    if (fd < 0 || ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
        send_number(listener, id, 0, -EPERM); /* without an answer it would wait forever */
}

static unsigned judge(int sock)
{
    int taken;
    char word = receive_word(sock, &taken);
    OWN(fd) int listener = taken;
    struct seccomp_notif n;
    if (listener < 0)
        return word == PROBED_TAKEN ? PROBE_TAKEN : 0;
    unsigned found = word == PROBED_KILLABLE ? PROBE_KILLABLE : 0;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP) == 0)
        found |= PROBE_SYNC;
    if (!receive(listener, &n) || !send_number(listener, n.id, ANSWER, 0))
        return 0;
    if (!receive(listener, &n))
        return 0;
    send_null(listener, n.id);
    int none;
    char result = receive_word(sock, &none);
    if (!(result & GOT_NUMBER))
        return 0;
    return found | PROBE_NOTIFY | (result & GOT_FD ? PROBE_ADDFD : 0);
}

unsigned probe_seccomp(const struct host *h)
{
    (void)h;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_subject(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    unsigned found = pid > 0 ? judge(ends[0]) : 0;
    close(ends[0]);
    return found;
}
