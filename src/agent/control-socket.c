/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names, keys and connections of control sockets; control-socket.h explains how they keep sandboxes
 * out. Every socket of a user is listed in /proc/net/unix by its name.
 */

#include "agent/control-socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/caller.h"
#include "base/own.h"
#include "kernel/shared/roles.h"

static socklen_t address_of(const char *kind, pid_t pid, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, CONTROL_PREFIX "%s-%u-%d", kind,
                     (unsigned)getuid(), (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- keys ---- */

enum { KEY_BYTES = 32 };
static const char key_name[] = CONTROL_PREFIX "key";

/* The key exists only in the file, not in memory, which a fork would copy. */
static int make_key(struct bk_err *err)
{
    char bytes[KEY_BYTES];
    OWN(fd) int key = memfd_create(key_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool made =
        key >= 0 && getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes) &&
        write(key, bytes, sizeof(bytes)) == sizeof(bytes) &&
        fcntl(key, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    explicit_bzero(bytes, sizeof(bytes));
    return made ? steal_fd(&key) : err_sys(err, "cannot create a key");
}

static bool is_key_link(int folder, const char *name)
{
    char link[64] = "";
    return readlinkat(folder, name, link, sizeof(link) - 1) > 0 &&
           strncmp(link, "/memfd:", 7) == 0 &&
           strncmp(link + 7, key_name, sizeof(key_name) - 1) == 0;
}

/* The kernel lets only processes open it that may trace that process. */
static int read_key(pid_t pid, char bytes[KEY_BYTES])
{
    char path[64];
    int key = -1;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && key < 0 && (e = readdir(d));)
        if (is_key_link(dirfd(d), e->d_name))
            key = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (d)
        closedir(d);
    OWN(fd) int own = key;
    return own >= 0 && pread(own, bytes, KEY_BYTES, 0) == KEY_BYTES ? 0 : -1;
}

bool control_socket_key_fits(int key, const void *shown, size_t n)
{
    char bytes[KEY_BYTES];
    bool fits = n == KEY_BYTES && pread(key, bytes, KEY_BYTES, 0) == KEY_BYTES &&
                memcmp(bytes, shown, KEY_BYTES) == 0;
    explicit_bzero(bytes, sizeof(bytes));
    return fits;
}

/* ---- listening ---- */

static int listen_at(const char *kind, pid_t pid, struct bk_err *err)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock < 0 || bind(sock, (struct sockaddr *)&a, n) < 0 || listen(sock, 64) < 0)
        return err_sys(err, "cannot open a control socket");
    return steal_fd(&sock);
}

/* The socket first: a process whose socket fails has no key to leak. */
int control_socket_open(const char *kind, int *key, struct bk_err *err)
{
    OWN(fd) int listener = listen_at(kind, getpid(), err);
    *key = listener >= 0 ? make_key(err) : -1;
    return *key >= 0 ? steal_fd(&listener) : -1;
}

static const char *claim_kind(const char *kind, char out[32])
{
    snprintf(out, 32, "%s-for", kind);
    return out;
}

int control_socket_claim(const char *kind, pid_t for_whom, struct bk_err *err)
{
    char name[32];
    return listen_at(claim_kind(kind, name), for_whom, err);
}

int control_socket_accept(int listener)
{
    pid_t pid;
    OWN(fd) int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return sock >= 0 && caller_is_user(sock, &pid) ? steal_fd(&sock) : -1;
}

/* ---- connecting ---- */

size_t control_socket_list(const char *kind, pid_t *pids, size_t cap)
{
    char want[64], line[512];
    size_t n = 0;
    int len = snprintf(want, sizeof(want), "@" CONTROL_PREFIX "%s-%u-", kind, (unsigned)getuid());
    OWN(file) FILE *f = fopen("/proc/net/unix", "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *at = strchr(line, '@');
        if (!at || strncmp(at, want, (size_t)len) != 0)
            continue;
        pid_t pid = (pid_t)strtol(at + len, NULL, 10);
        bool known = false; /* connected sockets have the name too */
        for (size_t i = 0; i < n && i < cap; i++)
            known |= pids[i] == pid;
        if (!known && n < cap)
            pids[n] = pid;
        n += !known;
    }
    return n;
}

/* Any process could bind the name, so the listener is checked like a client. *who: its process. */
static int connect_to(const char *kind, pid_t pid, pid_t *who, struct bk_err *err)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a);
    OWN(fd) int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, (struct sockaddr *)&a, n) < 0)
        return err_sys(err, "cannot reach the %s of process %d", kind, (int)pid);
    if (caller_is_user(sock, who))
        return steal_fd(&sock);
    err_set(err, BK_E_INPUT, "the process that serves the %s of process %d can't be trusted", kind,
            (int)pid);
    err_hint(err,
             "process %d belongs to another user, has other namespaces or more system call "
             "filters, or is inside a sandbox",
             (int)*who);
    return -1;
}

pid_t control_socket_owner(const char *kind, pid_t for_whom)
{
    char name[32];
    pid_t who;
    struct bk_err err;
    OWN(fd) int sock = connect_to(claim_kind(kind, name), for_whom, &who, &err);
    return sock >= 0 ? who : 0;
}

static int send_key(int sock, const char *kind, pid_t pid, struct bk_err *err)
{
    char key[KEY_BYTES];
    if (read_key(pid, key) < 0) {
        err_set(err, BK_E_INPUT, "cannot read the key of the %s of process %d", kind, (int)pid);
        err_hint(
            err,
            "only processes of the same user and group, outside of every sandbox, can read it");
        return -1;
    }
    bool sent = send(sock, key, sizeof(key), MSG_NOSIGNAL) == sizeof(key);
    explicit_bzero(key, sizeof(key));
    return sent ? 0 : err_set(err, BK_E_INPUT, "the %s of process %d has ended", kind, (int)pid);
}

int control_socket_connect(const char *kind, pid_t pid, struct bk_err *err)
{
    pid_t who;
    OWN(fd) int sock = connect_to(kind, pid, &who, err);
    if (sock < 0)
        return -1;
    if (who != pid)
        return err_set(err, BK_E_INPUT, "process %d answers for the %s of process %d", (int)who,
                       kind, (int)pid);
    return send_key(sock, kind, pid, err) < 0 ? -1 : steal_fd(&sock);
}
