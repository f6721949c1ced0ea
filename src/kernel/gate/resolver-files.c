/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The host's resolver may be on loopback, which is another one inside. Its hosts file has raw
 * addresses, which no rule about names covers. Its name service may ask a daemon over a socket
 * instead. Inside, names come only from the stub resolver.
 */

#include "kernel/gate/resolver-files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/cover-file.h"
#include "net/netns-setup.h"

/* Mounts a file with this text over the one at path. */
static int cover(int top, const char *path, const char *text, size_t n)
{
    return cover_file(top, strrchr(path, '/') + 1, path, text, n);
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
    OWN(fd) int top = cover_begin("64k");
    int err = top < 0 ? top : cover_hosts(top);
    if (err == 0)
        err = cover_services(top);
    if (err == 0)
        err = cover_resolver(top, connects);
    umask(was);
    return err;
}
