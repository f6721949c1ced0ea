/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An overlay remembers names, also those that were missing, and does not look below itself again:
 * a file that a process outside creates or replaces would stay invisible to a command that looked
 * for it before. So the thread that watches names also watches the folders below the layers that
 * end with the run, and lets the kernel forget unused names when one of them changes. That takes
 * moments; until then the old answer stands.
 *
 * Subfolders are watched as well, as many as LAYER_WATCHES allows, nearest first. Where there are
 * more, or the user has no watches left, the kernel forgets names every BLIND_MS.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/launch/launch.h"
#include "kernel/launch/layer-server.h"
#include "kernel/sentry/sentry-main.h"

enum { LAYER_WATCHES = 128, PAUSE_MS = 2, BLIND_MS = 50 };

static struct {
    int watch;
    char *path; /* as the host sees it */
} folders[LAYER_WATCHES];
static size_t nfolders;
static uint64_t dropped_ms;
static bool stale, blind;

static bool stays_real(const struct plan_layer *l, const char *path)
{
    for (size_t i = 0; i < l->nreal; i++)
        if (strcmp(l->real[i], path) == 0)
            return true;
    return false;
}

/* Watches one folder. One that we cannot read has nothing for the command either. */
static void watch(const struct sentry_process *p, int events, const char *path)
{
    char name[32];
    blind |= nfolders == LAYER_WATCHES;
    OWN(fd) int fd = blind ? -1 : sentry_process_open(p, path);
    if (fd < 0)
        return;
    snprintf(name, sizeof(name), "self/fd/%d", fd);
    int wd = inotify_add_watch(events, name,
                               IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MASK_ADD |
                                   IN_ONLYDIR);
    blind |= wd < 0 && (errno == ENOSPC || errno == ENOMEM);
    char *copy = wd < 0 ? NULL : strdup(path);
    if (copy) {
        folders[nfolders].watch = wd;
        folders[nfolders++].path = copy;
    }
}

/* Watches the folders in one that is watched. */
static void watch_inside(const struct sentry_process *p, int events, const struct plan_layer *l,
                         const char *folder)
{
    char path[PLAN_SENTRY_PATH];
    OWN(fd) int pin = sentry_process_open(p, folder);
    int fd = pin < 0 ? -1 : openat(pin, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && !blind && (e = readdir(d));) {
        int n = snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            n < (int)sizeof(path) && !stays_real(l, path))
            watch(p, events, path);
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
}

/* Watches a folder and those below it. */
static void watch_all(const struct sentry_process *p, int events, const struct plan_layer *l,
                      const char *path)
{
    size_t from = nfolders;
    watch(p, events, path);
    for (size_t k = from; k < nfolders && !blind; k++)
        watch_inside(p, events, l, folders[k].path);
}

void sentry_layers_watch(const struct sentry_process *p, int events)
{
    for (size_t i = 0; i < p->plan->nlayers; i++) {
        const struct plan_layer *l = &p->plan->layers[i];
        blind |= l->kind == LAYER_RUN && events < 0;
        if (l->kind == LAYER_RUN && events >= 0)
            watch_all(p, events, l, l->path);
    }
    stale = p->task->launch->layer_server > 0; /* others may have looked names up before */
}

static const struct plan_layer *layer_around(const struct plan *p, const char *path)
{
    for (size_t i = 0; i < p->nlayers; i++)
        if (strncmp(path, p->layers[i].path, p->layers[i].len) == 0 &&
            path[p->layers[i].len] == '/')
            return &p->layers[i];
    return NULL;
}

void sentry_layers_event(const struct sentry_process *p, int events, const struct inotify_event *e)
{
    char path[PLAN_SENTRY_PATH];
    if (e->mask & IN_Q_OVERFLOW)
        stale = nfolders > 0;
    for (size_t i = 0; i < nfolders; i++) {
        if (folders[i].watch != e->wd)
            continue;
        stale = true;
        if (e->mask & IN_IGNORED) { /* the folder is gone */
            free(folders[i].path);
            folders[i] = folders[--nfolders];
            return;
        }
        int n = snprintf(path, sizeof(path), "%s/%s", folders[i].path, e->len ? e->name : "");
        const struct plan_layer *l = layer_around(p->plan, path);
        if ((e->mask & IN_ISDIR) && (e->mask & (IN_CREATE | IN_MOVED_TO)) && e->len &&
            n < (int)sizeof(path) && l && !stays_real(l, path))
            watch_all(p, events, l, path);
        return;
    }
}

bool sentry_layers_show(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/* What is at the path may be the real folder, if the layer was left out. */
static void drop(const struct sentry_process *p, const char *path)
{
    OWN(fd) int fd = sentry_process_open_inside(path);
    int server = p->task->launch->layer_server;
    /* only the user namespace that made a layer may do that */
    if (fd >= 0 && sentry_layers_show(fd) && sentry_drop(fd) == -EPERM && server > 0)
        layer_server_forget_names(server);
}

void sentry_layers_before_look(const struct sentry_process *p)
{
    for (size_t i = 0; i < p->plan->nlayers; i++)
        if (p->plan->layers[i].nreal > p->plan->layers[i].nopened)
            drop(p, p->plan->layers[i].path);
}

int sentry_layers_refresh(const struct sentry_process *p)
{
    if (!stale && !blind)
        return -1;
    uint64_t now = now_ms(), pause = stale ? PAUSE_MS : BLIND_MS;
    if (now - dropped_ms < pause) /* a process outside may create many files */
        return (int)(pause - (now - dropped_ms));
    dropped_ms = now;
    stale = false;
    for (size_t i = 0; i < p->plan->nlayers; i++)
        if (p->plan->layers[i].kind == LAYER_RUN)
            drop(p, p->plan->layers[i].path);
    return blind ? BLIND_MS : -1;
}
