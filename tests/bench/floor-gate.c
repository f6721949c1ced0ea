/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The minimum cost of a filtered network, whatever the filter:
 *
 *     bench-floor-gate RELAY HANDSHAKE TO_ADDRESS TO_PORT CLIENT…
 *
 * The client runs in its own network, set up like Buckle's: the same addresses, routes, packet
 * rules and listeners. Its connects are made in its place, as they must be where the same call
 * leads to Unix sockets: address and socket are copied, the request is checked for validity, and
 * nothing is decided. The other end is the bare relay (RELAY is that program), which looks up where
 * an accepted connection wanted to go. HANDSHAKE is none, for connections without a proxy, or
 * connect or socks, at the proxies' ports, which always name the one destination.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernel/host/kabi.h"
#include "net/netns-setup.h"

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor-gate: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- handing over ---- */

union room {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int to, int fd)
{
    union room room = {.bytes = {0}};
    char byte = 0;
    struct iovec iov = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    room.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&room.head), &fd, sizeof(fd));
    if (sendmsg(to, &m, 0) != 1)
        give_up("sendmsg");
}

static int receive_fd(int from)
{
    union room room;
    char byte;
    int fd;
    struct iovec iov = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    if (recvmsg(from, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
        _exit(2); /* the client could not start, and has reported why */
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    return fd;
}

/* ---- in the client's place ---- */

/* The caller's descriptor, kept between calls. */
static int task_of(pid_t pid)
{
    static pid_t whose;
    static int task = -1;
    if (pid == whose)
        return task;
    if (task >= 0)
        close(task);
    whose = pid;
    return task = (int)syscall(SYS_pidfd_open, pid, 0);
}

static int connect_for(int listener, const struct seccomp_notif *n)
{
    struct sockaddr_storage to;
    size_t len = n->data.args[2] < sizeof(to) ? n->data.args[2] : sizeof(to);
    struct iovec here = {&to, len}, there = {(void *)(uintptr_t)n->data.args[1], len};
    if (process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) != (ssize_t)len)
        return -EFAULT;
    int fd = (int)syscall(SYS_pidfd_getfd, task_of((pid_t)n->pid), (int)n->data.args[0], 0);
    int domain = 0, err = -EPERM;
    socklen_t size = sizeof(domain);
    if (fd < 0)
        return -EBADF;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET &&
        ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) == 0)
        err = connect(fd, (struct sockaddr *)&to, (socklen_t)len) < 0 ? -errno : 0;
    close(fd);
    return err;
}

static void __attribute__((noreturn)) replacement(int listener)
{
    struct seccomp_notif n;
    for (;;) {
        memset(&n, 0, sizeof(n));
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
            if (errno == ENOENT || errno == EINTR)
                continue;
            _exit(0);
        }
        struct seccomp_notif_resp answer = {.id = n.id, .error = connect_for(listener, &n)};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

static int judge_connects(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = (int)syscall(
        SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &filter);
    if (listener < 0)
        give_up("seccomp");
    /* without it both would run on different cores; kernels before 6.6 lack it */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    return listener;
}

/* ---- the network ---- */

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        give_up(path);
    close(fd);
}

static void enter_network(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        give_up("unshare");
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    put("/proc/self/gid_map", map);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
        give_up("lo");
    close(fd);
}

/* ---- both sides ---- */

static void __attribute__((noreturn)) relay(int from, char **argv)
{
    char number[12];
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    int listener = receive_fd(from), calls = receive_fd(from);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close(listener);
        replacement(calls);
    }
    close(calls);
    snprintf(number, sizeof(number), "%d", listener);
    execl(argv[1], argv[1], "copy", argv[2], "fd", number, argv[3], argv[4], NULL);
    give_up(argv[1]);
}

int main(int argc, char **argv)
{
    int ends[2];
    struct netns_sockets net;
    if (argc < 6)
        give_up("usage: bench-floor-gate RELAY none|connect|socks TO_ADDRESS TO_PORT CLIENT…");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socketpair");
    if (fork() == 0) {
        close(ends[1]);
        relay(ends[0], argv);
    }
    close(ends[0]);
    enter_network();
    int err = netns_network(&(struct netns_wishes){0}, &net);
    if (err < 0 || !net.handed_over) {
        errno = -err;
        give_up("no network");
    }
    send_fd(ends[1], net.fds[strcmp(argv[2], "connect") == 0 ? NETNS_HTTP
                             : strcmp(argv[2], "socks") == 0 ? NETNS_SOCKS
                                                             : NETNS_TCP4]);
    netns_close(&net);
    send_fd(ends[1], judge_connects()); /* closed by what follows */
    execv(argv[5], argv + 5);
    give_up(argv[5]);
}
