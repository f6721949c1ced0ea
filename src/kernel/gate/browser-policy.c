/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Most machines have no folder for policies, and the host's /etc must not get one. So the deepest
 * folder that exists is covered by a new one. It shows the same entries by bind mounts, and has the
 * missing folders and our file.
 */

#include "kernel/gate/browser-policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "kernel/host/kabi.h"

enum { ENTRIES_MAX = 64, POLICY_MAX = 1 << 20 };
#define OUR_FILE "buckle.json"

/* Where each browser reads policies, and the part of that which has to exist: a folder that belongs
 * to browsers, never /etc itself. */
static const struct {
    const char *policies;
    const char *least;
} browsers[] = {
    {"/etc/chromium/policies/managed", "/etc/chromium"},
    {"/etc/chromium-browser/policies/managed", "/etc/chromium-browser"}, /* Ubuntu, Raspbian */
    {"/etc/opt/chrome/policies/managed", "/etc/opt/chrome"},
    {"/etc/opt/chrome_for_testing/policies/managed", "/etc/opt/chrome_for_testing"},
    {"/etc/opt/edge/policies/managed", "/etc/opt/edge"},
    {"/etc/brave/policies/managed", "/etc/brave"},
};

/* ---- what is there ---- */

/* Opens the deepest part of the path that exists. base becomes that part. Returns -ENOENT if not
 * even the least does. */
static int open_deepest(const char *policies, const char *least, char base[PATH_MAX])
{
    snprintf(base, PATH_MAX, "%s", policies);
    while (strlen(base) >= strlen(least)) {
        int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
        if (errno != ENOENT)
            return -errno;
        *strrchr(base, '/') = 0;
    }
    return -ENOENT;
}

/* Whether a policy of the machine has authorities already: two lists do not add up. */
static bool lists_authorities(int folder, const char *name)
{
    static const char key[] = "\"CACertificates\"";
    OWN(buf) struct buf text = {0};
    char part[4096];
    ssize_t n;
    OWN(fd) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0 && text.n < POLICY_MAX)
        buf_add(&text, part, (size_t)n);
    return buf_ok(&text) && text.n && memmem(text.s, text.n, key, sizeof(key) - 1);
}

/* Returns how many entries the folder has; -EEXIST if it is not ours to extend. */
static int examine(int folder, bool whole)
{
    int n = 0;
    DIR *d = fdopendir(dup(folder));
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d)) && n >= 0;)
        if (e->d_name[0] != '.')
            n = whole && lists_authorities(folder, e->d_name) ? -EEXIST : n + 1;
    closedir(d);
    return n;
}

/* ---- the cover ---- */

/* Shows one entry of the covered folder in the new one. */
static int show(int from, int to, const char *name)
{
    struct stat st;
    char target[PATH_MAX];
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);
        if (n < 0)
            return -errno;
        target[n] = 0;
        return symlinkat(target, to, name) < 0 ? -errno : 0;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return 0;
    int err = S_ISDIR(st.st_mode) ? mkdirat(to, name, 0755) : mknodat(to, name, S_IFREG | 0444, 0);
    if (err < 0)
        return -errno;
    OWN(fd)
    int tree = (int)syscall(SYS_open_tree, from, name,
                            KABI_OPEN_TREE_CLONE | O_CLOEXEC | KABI_AT_RECURSIVE);
    if (tree < 0)
        return -errno;
    return syscall(SYS_move_mount, tree, "", to, name, KABI_MOVE_MOUNT_EMPTY) < 0 ? -errno : 0;
}

static int show_all(int from, int to)
{
    int err = 0;
    DIR *d = fdopendir(dup(from));
    if (!d)
        return -errno;
    rewinddir(d);
    for (struct dirent *e; err == 0 && (e = readdir(d));)
        if (e->d_name[0] != '.')
            err = show(from, to, e->d_name);
    closedir(d);
    return err;
}

/* PEM's lines without the first, the last and line ends are the certificate in base64. */
static void add_policy(const char *pem, size_t n, struct buf *out)
{
    const char *end = pem + n;
    buf_str(out, "{\"CACertificates\":[\"");
    for (const char *line = pem, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        if (line[0] != '-')
            buf_add(out, line, (size_t)((stop ? stop : end) - line));
    }
    buf_str(out, "\"]}\n");
}

/* rest: the folders below that are missing, "/policies/managed". */
static int write_policy(int folder, const char *rest, const char *pem, size_t n)
{
    OWN(buf) struct buf text = {0};
    char path[PATH_MAX];
    for (const char *at = rest; *at;) {
        size_t len = (size_t)(strchrnul(at + 1, '/') - rest);
        snprintf(path, sizeof(path), "%.*s", (int)len - 1, rest + 1);
        if (mkdirat(folder, path, 0755) < 0)
            return -errno;
        at = rest + len;
    }
    snprintf(path, sizeof(path), "%s%s" OUR_FILE, *rest ? rest + 1 : "", *rest ? "/" : "");
    add_policy(pem, n, &text);
    if (!buf_ok(&text))
        return -ENOMEM;
    OWN(fd)
    int file = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
    if (file < 0 || write(file, text.s, text.n) != (ssize_t)text.n)
        return -errno;
    return 0;
}

static int cover(int top, size_t i, const char *pem, size_t n)
{
    char base[PATH_MAX], name[24];
    const char *policies = browsers[i].policies;
    OWN(fd) int under = open_deepest(policies, browsers[i].least, base);
    if (under < 0)
        return 0;
    const char *rest = policies + strlen(base);
    int entries = examine(under, !*rest);
    if (entries < 0 || entries > ENTRIES_MAX)
        return 0;
    snprintf(name, sizeof(name), "browser%zu", i);
    if (mkdirat(top, name, 0755) < 0)
        return -errno;
    OWN(fd) int tree = (int)syscall(SYS_open_tree, top, name, KABI_OPEN_TREE_CLONE | O_CLOEXEC);
    /* other mounts can only be put on what is mounted itself */
    if (tree < 0 || syscall(SYS_move_mount, tree, "", under, "", KABI_MOVE_MOUNT_EMPTY) < 0)
        return -errno;
    int err = show_all(under, tree);
    return err < 0 ? err : write_policy(tree, rest, pem, n);
}

int browser_policy_mount(int top, const char *pem, size_t n)
{
    int err = 0;
    for (size_t i = 0; i < sizeof(browsers) / sizeof(browsers[0]) && err >= 0; i++)
        err = cover(top, i, pem, n);
    return err;
}
