/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Control sockets are files in a private folder below the user's own temporary folder, named after
 * their kind and process: macOS has no other names for them. A killed process leaves its files,
 * which the next one that looks removes. The key is such a file, too; whether the client may use it
 * is decided by the client's process (caller.c), not by who can read it.
 */

#include "agent/control-place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control-socket.h"
#include "base/bytes.h"
#include "base/own.h"
#include "system/descriptors.h"

/* ---- the folder ---- */

static bool find_folder(char path[PATH_MAX])
{
    char base[PATH_MAX];
    struct stat st;
    size_t n = confstr(_CS_DARWIN_USER_TEMP_DIR, base, sizeof(base));
    if (n == 0 || n > sizeof(base))
        return false;
    if (snprintf(path, PATH_MAX, "%s/buckle", base) >= PATH_MAX)
        return false;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return false;
    errno = EACCES;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0;
}

static bool name_file(const char *kind, pid_t pid, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    return find_folder(folder) &&
           snprintf(path, PATH_MAX, "%s/%s-%d", folder, kind, (int)pid) < PATH_MAX;
}

static bool name_socket(const char *kind, pid_t pid, struct sockaddr_un *a)
{
    char path[PATH_MAX];
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!name_file(kind, pid, path))
        return false;
    errno = ENAMETOOLONG;
    return snprintf(a->sun_path, sizeof(a->sun_path), "%s", path) < (int)sizeof(a->sun_path);
}

/* ---- sockets ---- */

/* Nobody listens there any more. */
static bool is_left(const struct sockaddr_un *a)
{
    OWN(fd) int sock = fd_packet_socket(FD_BLOCK);
    return sock >= 0 && connect(sock, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
           errno == ECONNREFUSED;
}

int control_place_listen(const char *kind, pid_t pid, struct bk_err *err)
{
    struct sockaddr_un a;
    OWN(fd) int sock = fd_packet_socket(FD_NONBLOCK);
    if (!name_socket(kind, pid, &a))
        return err_sys(err, "cannot open a control socket");
    if (is_left(&a))
        unlink(a.sun_path);
    if (sock < 0 || bind(sock, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(sock, 64) < 0)
        return err_sys(err, "cannot open a control socket");
    return steal_fd(&sock);
}

int control_place_connect(const char *kind, pid_t pid)
{
    struct sockaddr_un a;
    OWN(fd) int sock = name_socket(kind, pid, &a) ? fd_packet_socket(FD_BLOCK) : -1;
    return sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : steal_fd(&sock);
}

size_t control_socket_list(const char *kind, pid_t *pids, size_t cap)
{
    char folder[PATH_MAX];
    size_t n = 0, len = strlen(kind);
    OWN(dir) DIR *d = find_folder(folder) ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, kind, len) != 0 || e->d_name[len] != '-')
            continue;
        char *end;
        pid_t pid = (pid_t)strtol(e->d_name + len + 1, &end, 10);
        if (*end || pid <= 0)
            continue;
        if (kill(pid, 0) < 0 && errno == ESRCH) {
            unlinkat(dirfd(d), e->d_name, 0);
            continue;
        }
        if (n < cap)
            pids[n] = pid;
        n++;
    }
    return n;
}

/* ---- keys ---- */

int control_place_make_key(const char *kind, struct bk_err *err)
{
    char bytes[CONTROL_KEY], name[32], path[PATH_MAX];
    snprintf(name, sizeof(name), "%s.key", kind);
    if (!name_file(name, getpid(), path))
        return err_sys(err, "cannot create a key");
    unlink(path);
    OWN(fd) int key = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool made = key >= 0 && getentropy(bytes, sizeof(bytes)) == 0 &&
                write(key, bytes, sizeof(bytes)) == sizeof(bytes);
    bytes_wipe(bytes, sizeof(bytes));
    return made ? steal_fd(&key) : err_sys(err, "cannot create a key");
}

int control_place_read_key(const char *kind, pid_t pid, char bytes[CONTROL_KEY])
{
    char name[32], path[PATH_MAX];
    snprintf(name, sizeof(name), "%s.key", kind);
    OWN(fd)
    int key = name_file(name, pid, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    return key >= 0 && pread(key, bytes, CONTROL_KEY, 0) == CONTROL_KEY ? 0 : -1;
}
