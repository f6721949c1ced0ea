/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Watches folders instead of files, because files are often replaced. If the folder is missing, it
 * watches the nearest existing parent; for a symlink also the folder of its target. Each watch
 * expects one name, because most changes in such a folder are irrelevant. A parent is watched only
 * for new names: watching writes would slow down every process that works in it, and the command's
 * folder is one of them.
 */

#include "system/file-watch.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OF_NAMES = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF,
    OF_FILES = IN_CLOSE_WRITE | IN_ATTRIB,
    OF_FOLDER = IN_IGNORED | IN_MOVE_SELF | IN_Q_OVERFLOW, /* without a name */
};

bool watch_open(struct watch_files *w)
{
    w->n = 0;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return w->fd >= 0;
}

void watch_forget(struct watch_files *w)
{
    while (w->n)
        free(w->at[--w->n].path);
}

void watch_close(struct watch_files *w)
{
    watch_forget(w);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

/* Watches the name in its folder, or in the nearest existing parent. */
static void watch_name(struct watch_files *w, const char *path)
{
    char here[PATH_MAX];
    int length = snprintf(here, sizeof(here), "%s%s", *path == '/' ? "" : "./", path);
    if (length < 0 || length >= PATH_MAX || w->n == WATCH_NAMES)
        return;
    uint32_t events = OF_NAMES | OF_FILES;
    for (char *slash; (slash = strrchr(here, '/')); *slash = '\0') {
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - here + 1), here);
        int wd = inotify_add_watch(w->fd, folder, events | IN_ONLYDIR | IN_MASK_ADD);
        if (wd < 0) {
            events = OF_NAMES | (errno == EACCES ? IN_ATTRIB : 0);
            continue;
        }
        w->at[w->n].folder = wd;
        w->at[w->n].path = strdup(here);
        w->n += w->at[w->n].path != NULL;
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
static bool is_begun(const char *path, const struct inotify_event *e)
{
    struct stat st;
    return (e->mask & (IN_CREATE | IN_ISDIR)) == IN_CREATE && lstat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && st.st_size == 0;
}

static bool is_ours(const struct watch_files *w, const struct inotify_event *e)
{
    if (e->mask & OF_FOLDER)
        return true;
    for (size_t i = 0; e->len && i < w->n; i++)
        if (w->at[i].folder == e->wd && strcmp(strrchr(w->at[i].path, '/') + 1, e->name) == 0 &&
            !is_begun(w->at[i].path, e))
            return true;
    return false;
}

bool watch_read_changes(struct watch_files *w)
{
    _Alignas(struct inotify_event) char events[8192];
    bool ours = false;
    ssize_t got;
    while ((got = read(w->fd, events, sizeof(events))) > 0)
        for (const char *at = events; at < events + got;) {
            const struct inotify_event *e = (const void *)at;
            ours = ours || is_ours(w, e);
            at += sizeof(*e) + e->len;
        }
    return ours;
}
