/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The host's resolver may be on loopback, which is another one inside. Its hosts file has raw
 * addresses, which no rule about names covers. Its name service may ask a daemon over a socket
 * instead. Inside, names come only from the stub resolver.
 */

#include "kernel/gate/resolver-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "net/netns-setup.h"

static int mount_tmpfs(void)
{
    OWN(fd) int fs = (int)syscall(SYS_fsopen, "tmpfs", KABI_FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, KABI_FSCONFIG_STRING, "size", "64k", 0) < 0 ||
        syscall(SYS_fsconfig, fs, KABI_FSCONFIG_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int top =
        (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC, KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV);
    return top < 0 ? -errno : top;
}

/* Mounts a file with this text over the one at path. */
static int cover(int top, const char *path, const char *text, size_t n)
{
    const char *name = strrchr(path, '/') + 1;
    OWN(fd) int on = open(path, O_PATH | O_CLOEXEC);
    if (on < 0)
        return errno == ENOENT ? 0 : -errno;
    OWN(fd) int file = openat(top, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (file < 0 || write(file, text, n) != (ssize_t)n)
        return -errno;
    OWN(fd) int tree = (int)syscall(SYS_open_tree, top, name, KABI_OPEN_TREE_CLONE | O_CLOEXEC);
    if (tree < 0)
        return -errno;
    return syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) < 0 ? -errno : 0;
}

/* Names of this machine lead to loopback. All other names must be looked up. */
static int cover_hosts(int top)
{
    char text[512], name[256];
    if (gethostname(name, sizeof(name)) < 0)
        name[0] = '\0';
    name[sizeof(name) - 1] = '\0';
    int n =
        snprintf(text, sizeof(text),
                 "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 %s\n",
                 name[0] ? name : "sandbox");
    return cover(top, "/etc/hosts", text, (size_t)n);
}

/* The host's file, except for the hosts line: users are looked up as before. */
static int cover_services(int top)
{
    static const char path[] = "/etc/nsswitch.conf";
    char was[16384], text[sizeof(was) + 32];
    size_t n = 0;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, was, sizeof(was));
    for (const char *at = was, *end = was + (got > 0 ? got : 0); at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
        if (line < 6 || memcmp(at, "hosts:", 6) != 0) {
            memcpy(text + n, at, line);
            n += line;
        }
        at += line;
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "\nhosts: files dns\n");
    return cover(top, path, text, n);
}

static int cover_resolver(int top, bool connects)
{
    static const char text[] = "nameserver " NETNS_RESOLVER "\noptions edns0\n",
                      tcp[] = "nameserver " NETNS_RESOLVER "\noptions edns0 use-vc\n";
    return connects ? cover(top, "/etc/resolv.conf", tcp, sizeof(tcp) - 1)
                    : cover(top, "/etc/resolv.conf", text, sizeof(text) - 1);
}

int resolver_files_mount(bool connects)
{
    mode_t was = umask(0);
    OWN(fd) int top = mount_tmpfs();
    int err = top < 0 ? top : cover_hosts(top);
    if (err == 0)
        err = cover_services(top);
    if (err == 0)
        err = cover_resolver(top, connects);
    umask(was);
    return err;
}
