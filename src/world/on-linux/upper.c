/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An overlay marks files on its upper side with attributes: trusted.overlay.NAME if root mounted
 * it, else user.overlay.NAME. Root's overlays take attributes of users as any others, which mean
 * nothing here: real files have them where a user keeps containers. A removed file is a device 0:0,
 * or an empty file with an attribute. Attributes of descriptors that were opened by path only are
 * reached through /proc.
 */

#include "world/on-linux/upper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"

enum { LIST_MOST = 64 << 10, VALUE_MOST = 64 << 10, FD_PATH = 40 };

static const char *const prefixes[] = {"user.overlay.", "trusted.overlay."};
enum { PREFIXES = sizeof(prefixes) / sizeof(prefixes[0]) };

/* ---- paths ---- */

int beneath_open(int folder, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    for (;;) {
        int fd = (int)syscall(SYS_openat2, folder, *path ? path : ".", &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN) /* a rename somewhere else */
            return fd < 0 ? -errno : fd;
    }
}

int canonical_open(const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd < 0 ? -1 : fd;
}

int beneath_above(int folder, const char *path, const char **name)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof(above))
        return -ENAMETOOLONG;
    memcpy(above, path, n);
    above[n] = '\0';
    *name = slash ? slash + 1 : path;
    return beneath_open(folder, above, O_RDONLY | O_DIRECTORY);
}

int beneath_stat(int folder, const char *path, struct stat *st)
{
    const char *name;
    if (!*path)
        return fstat(folder, st) < 0 ? -errno : 0;
    OWN(fd) int above = beneath_above(folder, path, &name);
    if (above < 0)
        return above;
    return fstatat(above, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* ---- the overlay's marks ---- */

static void path_of(int fd, char out[FD_PATH])
{
    snprintf(out, FD_PATH, "/proc/self/fd/%d", fd);
}

/* As the plan decides: with this capability there is no user namespace for the mounts. */
static bool mounts_as_root(void)
{
    static int known = -1;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (known < 0)
        known = syscall(SYS_capget, &head, data) == 0 &&
                (data[0].effective & UINT32_C(1) << CAP_SYS_ADMIN);
    return known > 0;
}

/* The value of a mark; negative: there is none. */
static ssize_t read_mark(int fd, const char *name, void *value, size_t n)
{
    char path[FD_PATH], full[64];
    path_of(fd, path);
    snprintf(full, sizeof(full), "%s%s", prefixes[mounts_as_root()], name);
    return getxattr(path, full, value, n);
}

static bool has_mark(int fd, const char *name)
{
    char value[8];
    return read_mark(fd, name, value, sizeof(value)) >= 0 || errno == ERANGE;
}

static int pin(int above, const char *name)
{
    return openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

bool upper_is_whiteout(int above, const char *name, const struct stat *st)
{
    if (S_ISCHR(st->st_mode))
        return st->st_rdev == makedev(0, 0);
    if (!S_ISREG(st->st_mode) || st->st_size)
        return false;
    OWN(fd) int fd = pin(above, name);
    return fd >= 0 && has_mark(fd, "whiteout");
}

bool upper_is_opaque(int fd)
{
    char value[8];
    return read_mark(fd, "opaque", value, sizeof(value)) == 1 && value[0] == 'y';
}

bool upper_origin(int above, const char *name, uint32_t words[2])
{
    enum { HANDLE = 21, MOST = 256 }; /* version, magic, length, flags, type and a UUID before it */
    unsigned char value[MOST];
    OWN(fd) int fd = pin(above, name);
    words[0] = words[1] = 0;
    if (fd < 0)
        return false;
    ssize_t n = read_mark(fd, "origin", value, sizeof(value));
    if (n >= HANDLE + 2 * (ssize_t)sizeof(*words))
        memcpy(words, value + HANDLE, 2 * sizeof(*words));
    return n >= 0;
}

/* ---- attributes ---- */

static bool is_overlays(const char *name)
{
    for (size_t i = 0; i < PREFIXES; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Names, each with its NUL; none if the file system has no attributes. */
static ssize_t list_names(int fd, char *list)
{
    char path[FD_PATH];
    path_of(fd, path);
    ssize_t n = listxattr(path, list, LIST_MOST);
    return n < 0 ? 0 : n;
}

void upper_strip(int above, const char *name, const struct stat *st)
{
    char path[FD_PATH];
    OWN(mem) char *list = malloc(LIST_MOST);
    OWN(fd) int fd = pin(above, name);
    if (fd < 0 || !list || S_ISLNK(st->st_mode))
        return;
    path_of(fd, path);
    ssize_t n = list_names(fd, list);
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(list + i) + 1) {
        if (!is_overlays(list + i) || removexattr(path, list + i) == 0)
            continue;
        /* only who may write a file may change these */
        if (chmod(path, (st->st_mode & 07777) | 0200) == 0) {
            removexattr(path, list + i);
            chmod(path, st->st_mode & 07777);
        }
    }
}

/* Whether the other file has all attributes of this one. */
static bool has_all(int one, int other, char *list, char *a, char *b)
{
    char path[FD_PATH], second[FD_PATH];
    path_of(one, path);
    path_of(other, second);
    ssize_t n = list_names(one, list);
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(list + i) + 1) {
        if (is_overlays(list + i))
            continue;
        ssize_t na = getxattr(path, list + i, a, VALUE_MOST);
        ssize_t nb = getxattr(second, list + i, b, VALUE_MOST);
        if (na != nb || (na > 0 && memcmp(a, b, (size_t)na) != 0))
            return false;
    }
    return true;
}

bool xattrs_equal(int one, int other)
{
    OWN(mem) char *room = malloc(LIST_MOST + 2 * VALUE_MOST);
    if (!room)
        return false;
    char *a = room + LIST_MOST, *b = a + VALUE_MOST;
    return has_all(one, other, room, a, b) && has_all(other, one, room, a, b);
}

/* A user may not set all of them: security.* stays behind. */
static bool is_refused(int error)
{
    return error == EPERM || error == EOPNOTSUPP;
}

static int copy_attributes(int from, int to, bool all)
{
    char path[FD_PATH], second[FD_PATH];
    OWN(mem) char *room = malloc(LIST_MOST + VALUE_MOST);
    if (!room)
        return -ENOMEM;
    char *value = room + LIST_MOST;
    path_of(from, path);
    path_of(to, second);
    ssize_t n = list_names(to, room);
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(room + i) + 1)
        if ((all || !is_overlays(room + i)) && getxattr(path, room + i, NULL, 0) < 0)
            removexattr(second, room + i);
    n = list_names(from, room);
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(room + i) + 1) {
        ssize_t len =
            !all && is_overlays(room + i) ? -1 : getxattr(path, room + i, value, VALUE_MOST);
        if (len >= 0 && setxattr(second, room + i, value, (size_t)len, 0) < 0 && !is_refused(errno))
            return -errno;
    }
    return 0;
}

int xattrs_copy(int from, int to)
{
    return copy_attributes(from, to, false);
}

int xattrs_copy_all(int from, int to)
{
    return copy_attributes(from, to, true);
}
