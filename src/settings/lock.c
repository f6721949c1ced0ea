/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A writer reads the file first, so of two at once one would undo the other's change. The lock is a
 * file, FILE.lock, that only one process can create; a sandboxed command, which may read these
 * folders but not write them, can neither create nor block it. The file is locked (flock) before it
 * gets that name, so an unlocked one has a dead owner.
 */

#include "settings/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/own.h"

enum { PATIENCE_MS = 10000, LOOK_MS = 5 };

static bool is_at(int fd, const char *path)
{
    struct stat held, there;
    return fstat(fd, &held) == 0 && lstat(path, &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

/* Removes a dead owner's lock: only with the lock held, and if it still has that name. */
static void remove_abandoned(const char *name)
{
    OWN(fd) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, name))
        unlink(name);
}

static int make_locked(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    unlink(name);
    return -1;
}

static bool wait_for_name(const char *ours, const char *name)
{
    const struct timespec pause = {0, LOOK_MS * 1000000L};
    for (int waited = 0; link(ours, name) < 0; waited += LOOK_MS) {
        if (errno != EEXIST || waited >= PATIENCE_MS)
            return false;
        remove_abandoned(name);
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Some file systems have no hard links; there nothing is locked. */
static bool has_no_links(int why)
{
    return why == EPERM || why == EOPNOTSUPP || why == ENOSYS;
}

int settings_lock(struct settings_lock *l, const char *path, struct bk_err *err)
{
    char ours[sizeof(l->name) + 16];
    snprintf(l->name, sizeof(l->name), "%s.lock", path);
    snprintf(ours, sizeof(ours), "%s.%d", l->name, (int)getpid());
    OWN(fd) int fd = make_locked(ours);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(err, "cannot write %s", ours);
    bool done = wait_for_name(ours, l->name);
    int why = errno;
    unlink(ours);
    if (done) {
        l->fd = steal_fd(&fd);
        return 0;
    }
    if (has_no_links(why))
        return 0;
    errno = why;
    if (why != EEXIST)
        return err_sys(err, "cannot write %s", l->name);
    err_set(err, BK_E_SYSTEM, "another program is changing %s", path);
    err_hint(err, "if none is, remove %s", l->name);
    return -1;
}

void settings_unlock(struct settings_lock *l)
{
    if (l->fd < 0)
        return;
    unlink(l->name);
    close(l->fd);
    l->fd = -1;
}
