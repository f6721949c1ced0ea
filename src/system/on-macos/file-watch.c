/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A kqueue watches descriptors, not names: the folder tells when a name in it comes, goes or is
 * replaced, and the file itself when it is written. If the folder is missing, the nearest existing
 * parent is watched; for a symlink also the folder of its target.
 */

#include "system/file-watch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    OF_FOLDER = NOTE_WRITE | NOTE_RENAME | NOTE_DELETE | NOTE_REVOKE,
    OF_FILE = OF_FOLDER | NOTE_EXTEND | NOTE_ATTRIB,
};

bool watch_open(struct watch_files *w)
{
    w->n = 0;
    w->fd = kqueue();
    return w->fd >= 0 && fcntl(w->fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Closing a descriptor ends its watch. */
void watch_forget(struct watch_files *w)
{
    while (w->n) {
        struct watched_name *one = &w->at[--w->n];
        close(one->folder);
        if (one->file >= 0)
            close(one->file);
        free(one->path);
    }
}

void watch_close(struct watch_files *w)
{
    watch_forget(w);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Returns a descriptor, or -1. */
static int watch_one(const struct watch_files *w, const char *path, int how, unsigned notes)
{
    struct kevent e;
    int fd = open(path, O_EVTONLY | O_CLOEXEC | how);
    if (fd < 0)
        return -1;
    EV_SET(&e, (uintptr_t)fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, notes, 0, NULL);
    if (kevent(w->fd, &e, 1, NULL, 0, NULL) == 0)
        return fd;
    close(fd);
    return -1;
}

static uint64_t number_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static void watch_name(struct watch_files *w, const char *path)
{
    char here[PATH_MAX];
    int length = snprintf(here, sizeof(here), "%s%s", *path == '/' ? "" : "./", path);
    if (length < 0 || length >= PATH_MAX || w->n == WATCH_NAMES)
        return;
    for (char *slash; (slash = strrchr(here, '/')); *slash = '\0') {
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - here + 1), here);
        int fd = watch_one(w, folder, O_DIRECTORY, OF_FOLDER);
        if (fd < 0)
            continue;
        struct watched_name *one = &w->at[w->n];
        *one = (struct watched_name){fd, strdup(here), -1, number_of(here)};
        if (!one->path) {
            close(fd);
            return;
        }
        one->file = watch_one(w, here, O_NONBLOCK, OF_FILE);
        w->n++;
        return;
    }
}

void watch_path(struct watch_files *w, const char *path)
{
    char real[PATH_MAX];
    watch_name(w, path);
    if (realpath(path, real) && strcmp(real, path) != 0)
        watch_name(w, real);
}

/* A new file is still to be written, unless it is a symlink. */
static bool is_begun(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

/* The folder changes with every name in it. */
static bool is_ours(struct watch_files *w, const struct kevent *e)
{
    for (size_t i = 0; i < w->n; i++) {
        struct watched_name *one = &w->at[i];
        if (one->file == (int)e->ident)
            return true;
        if (one->folder != (int)e->ident)
            continue;
        if (e->fflags & ~(unsigned)NOTE_WRITE)
            return true;
        if (one->ino != number_of(one->path) && !is_begun(one->path))
            return true;
        if (one->file < 0) /* begun: its content is what matters */
            one->file = watch_one(w, one->path, O_NONBLOCK, OF_FILE);
    }
    return false;
}

bool watch_read_changes(struct watch_files *w)
{
    static const struct timespec now;
    struct kevent e;
    bool ours = false;
    while (kevent(w->fd, NULL, 0, &e, 1, &now) == 1)
        ours = is_ours(w, &e) || ours;
    return ours;
}
