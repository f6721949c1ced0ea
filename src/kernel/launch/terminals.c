/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A new devpts is empty and numbers terminals in the order of creation. To give a terminal of the
 * host its name there, we create as many as it takes to reach its number, and bind the host's
 * terminal over the last.
 */

#include "kernel/launch/terminals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"

enum { PSEUDO_TERMINAL = 136 }; /* the major number of those in /dev/pts */

/* The first of the standard descriptors that is a pseudo-terminal. */
static bool find_handed(struct stat *st)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fstat(fd, st) == 0 && S_ISCHR(st->st_mode) && major(st->st_rdev) == PSEUDO_TERMINAL)
            return minor(st->st_rdev) < TERMINALS_MOST;
    return false;
}

/* Opens the terminal of this name, if it is the same: it may come from another /dev/pts. */
static int open_named(const char *name, const struct stat *st)
{
    struct stat named;
    OWN(fd) int file = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool same = file >= 0 && fstat(file, &named) == 0 && named.st_dev == st->st_dev &&
                named.st_ino == st->st_ino;
    return same ? steal_fd(&file) : -1;
}

/* Without a name it is still a terminal, so failing here does not fail the sandbox. */
static void give_name(struct terminals *t, int terminal, const char *name, unsigned number)
{
    char file[32];
    while (t->n <= number) {
        int fd = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            return;
        t->masters[t->n++] = fd;
    }
    snprintf(file, sizeof(file), "/proc/self/fd/%d", terminal);
    (void)!mount(file, name, NULL, MS_BIND, NULL);
}

int terminals_mount(struct terminals *t)
{
    char name[32];
    struct stat st;
    OWN(fd) int terminal = -1;
    t->n = 0;
    if (find_handed(&st)) {
        snprintf(name, sizeof(name), "/dev/pts/%u", minor(st.st_rdev));
        terminal = open_named(name, &st);
    }
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=600") < 0)
        return errno == ENOENT || errno == ENODEV ? 0 : -errno;
    if (terminal >= 0)
        give_name(t, terminal, name, minor(st.st_rdev));
    return 0;
}

int terminals_settle(struct terminals *t)
{
    size_t n = t->n;
    t->n = 0;
    for (size_t i = 0; i + 1 < n; i++)
        close(t->masters[i]);
    return n ? t->masters[n - 1] : -1;
}
