/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static socklen_t address_of(const char *kind, pid_t pid, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "buckle-%s-%u-%d", kind,
                     (unsigned)getuid(), (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- who is it ---- */

static bool same_namespace(pid_t pid, const char *which)
{
    char theirs[64], ours[64];
    struct stat a, b;
    snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, which);
    snprintf(ours, sizeof(ours), "/proc/self/ns/%s", which);
    return stat(theirs, &a) == 0 && stat(ours, &b) == 0 && a.st_ino == b.st_ino;
}

/* A number in PROC/PID/status; -1 when it is not there. */
static long status_number(const char *pid, const char *key)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%s/status", pid);
    OWN(file) FILE *f = fopen(path, "re");
    size_t n = strlen(key);
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, n) == 0 && line[n] == ':')
            return strtol(line + n + 1, NULL, 10);
    return -1;
}

/* Every sandbox adds a filter to those that its maker has. */
static bool is_filtered_no_more(pid_t pid)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int)pid);
    long theirs = status_number(text, "Seccomp_filters");
    if (theirs >= 0)
        return theirs <= status_number("self", "Seccomp_filters");
    theirs = status_number(text, "Seccomp"); /* before Linux 5.11 only whether there are any */
    return theirs >= 0 && theirs <= status_number("self", "Seccomp");
}

/* Whether the process that was looked at is still the one that connected. */
static bool is_still_there(int sock)
{
    OWN(fd) int pidfd = -1;
    socklen_t n = sizeof(pidfd);
    if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0)
        return errno == ENOPROTOOPT; /* before Linux 6.5 */
    struct pollfd ended = {pidfd, POLLIN, 0};
    return poll(&ended, 1, 0) == 0;
}

static bool is_one_of_us(int sock)
{
    static const char *const spaces[] = {"user", "pid", "mnt", "net"};
    struct ucred who;
    socklen_t n = sizeof(who);
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.uid != getuid() ||
        who.pid <= 0)
        return false;
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (!same_namespace(who.pid, spaces[i]))
            return false;
    return is_filtered_no_more(who.pid) && is_still_there(sock);
}

/* ---- keeping one ---- */

static int listen_at(const char *kind, pid_t pid, struct bk_err *err)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0 || bind(sock, (struct sockaddr *)&a, n) < 0 || listen(sock, 64) < 0)
        return err_sys(err, "cannot be reached while it runs");
    return steal_fd(&sock);
}

int door_open(const char *kind, struct bk_err *err)
{
    return listen_at(kind, getpid(), err);
}

static const char *for_others(const char *kind, char out[32])
{
    snprintf(out, 32, "%s-for", kind);
    return out;
}

int door_claim(const char *kind, pid_t for_whom, struct bk_err *err)
{
    char name[32];
    return listen_at(for_others(kind, name), for_whom, err);
}

int door_answer(int door)
{
    OWN(fd) int sock = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return sock >= 0 && is_one_of_us(sock) ? steal_fd(&sock) : -1;
}

/* ---- knocking ---- */

size_t door_list(const char *kind, pid_t *pids, size_t cap)
{
    char want[64], line[512];
    size_t n = 0;
    int len = snprintf(want, sizeof(want), "@buckle-%s-%u-", kind, (unsigned)getuid());
    OWN(file) FILE *f = fopen("/proc/net/unix", "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *at = strchr(line, '@');
        if (!at || strncmp(at, want, (size_t)len) != 0)
            continue;
        pid_t pid = (pid_t)strtol(at + len, NULL, 10);
        bool known = false; /* connections bear the name as well */
        for (size_t i = 0; i < n && i < cap; i++)
            known |= pids[i] == pid;
        if (!known && n < cap)
            pids[n] = pid;
        n += !known;
    }
    return n;
}

static int connect_to(const char *kind, pid_t pid, struct ucred *who)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a), size = sizeof(*who);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, (struct sockaddr *)&a, n) < 0 ||
        getsockopt(sock, SOL_SOCKET, SO_PEERCRED, who, &size) < 0)
        return -1;
    return steal_fd(&sock);
}

pid_t door_owner(const char *kind, pid_t for_whom)
{
    char name[32];
    struct ucred who;
    OWN(fd) int sock = connect_to(for_others(kind, name), for_whom, &who);
    return sock >= 0 && who.uid == getuid() ? who.pid : 0;
}

int door_knock(const char *kind, pid_t pid, struct bk_err *err)
{
    struct ucred who;
    OWN(fd) int sock = connect_to(kind, pid, &who);
    if (sock < 0)
        return err_sys(err, "cannot reach the %s of process %d", kind, (int)pid);
    if (who.uid != getuid())
        return err_set(err, BK_E_INPUT, "the %s of process %d is somebody else's", kind, (int)pid);
    return steal_fd(&sock);
}
