/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Unix sockets. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"
#include "legacy.h"

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
    return fd < 0 ? -1 : probe_finish(fd, syscall(call, fd, &to, n));
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
    return probe_leave_open(syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0));
}

static long do_socket_raw(char **a)
{
    (void)a;
    return probe_leave_open(syscall(SYS_socket, AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0));
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
    return probe_finish(fd[0], got < 0 ? -1 : 0);
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
    return probe_finish(fd[0], syscall(SYS_connect, fd[0], &to, n));
}

const struct operation socket_operations[] = {
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
    {NULL, 0, NULL},
};
