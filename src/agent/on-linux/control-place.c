/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Control sockets have names in the abstract namespace, which leaves no file behind. The key is a
 * file in memory that is open in the server: only a process that may trace the server can open it.
 */

#include "agent/control-place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control-socket.h"
#include "base/bytes.h"
#include "base/own.h"
#include "kernel/shared/roles.h"
#include "system/descriptors.h"

static socklen_t address_of(const char *kind, pid_t pid, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, CONTROL_PREFIX "%s-%u-%d", kind,
                     (unsigned)getuid(), (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int control_place_listen(const char *kind, pid_t pid, struct bk_err *err)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a);
    OWN(fd) int sock = fd_packet_socket(FD_NONBLOCK);
    if (sock < 0 || bind(sock, (struct sockaddr *)&a, n) < 0 || listen(sock, 64) < 0)
        return err_sys(err, "cannot open a control socket");
    return steal_fd(&sock);
}

int control_place_connect(const char *kind, pid_t pid)
{
    struct sockaddr_un a;
    socklen_t n = address_of(kind, pid, &a);
    OWN(fd) int sock = fd_packet_socket(FD_BLOCK);
    /* one that is stopped accepts nobody, and its queue fills */
    const struct timeval soon = {.tv_usec = 100000}, none = {0};
    if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) < 0 ||
        connect(sock, (struct sockaddr *)&a, n) < 0 ||
        setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none)) < 0)
        return -1;
    return steal_fd(&sock);
}

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

/* ---- keys ---- */

static const char key_name[] = CONTROL_PREFIX "key";

/* The key exists only in the file, not in memory, which a fork would copy. */
int control_place_make_key(const char *kind, struct bk_err *err)
{
    (void)kind;
    char bytes[CONTROL_KEY];
    OWN(fd) int key = memfd_create(key_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool made =
        key >= 0 && getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes) &&
        write(key, bytes, sizeof(bytes)) == sizeof(bytes) &&
        fcntl(key, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    bytes_wipe(bytes, sizeof(bytes));
    return made ? steal_fd(&key) : err_sys(err, "cannot create a key");
}

static bool is_key_link(int folder, const char *name)
{
    char link[64] = "";
    return readlinkat(folder, name, link, sizeof(link) - 1) > 0 &&
           strncmp(link, "/memfd:", 7) == 0 &&
           strncmp(link + 7, key_name, sizeof(key_name) - 1) == 0;
}

static int open_key(int folder, const char *name)
{
    return is_key_link(folder, name) ? openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* It is among the first that the server opens. */
static int find_key_early(int folder)
{
    enum { EARLY = 10 };
    char name[2] = "0";
    int key = -1;
    for (int fd = STDERR_FILENO + 1; fd < EARLY && key < 0; fd++) {
        name[0] = (char)('0' + fd);
        key = open_key(folder, name);
    }
    return key;
}

static int find_key(int folder)
{
    int key = -1;
    DIR *d = fdopendir(folder);
    for (struct dirent *e; d && key < 0 && (e = readdir(d));)
        key = open_key(dirfd(d), e->d_name);
    if (d)
        closedir(d);
    else
        close(folder);
    return key;
}

/* The kernel lets only processes open it that may trace that process. */
int control_place_read_key(const char *kind, pid_t pid, char bytes[CONTROL_KEY])
{
    char path[64];
    (void)kind; /* a process has one key for all its sockets */
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    OWN(fd) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    OWN(fd) int own = find_key_early(folder);
    if (own < 0)
        own = find_key(steal_fd(&folder));
    return own >= 0 && pread(own, bytes, CONTROL_KEY, 0) == CONTROL_KEY ? 0 : -1;
}
