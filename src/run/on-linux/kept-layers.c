/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/kept-layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"
#include "command/state-folder.h"
#include "kernel/launch/layers.h"
#include "system/descriptors.h"

enum { DAY_S = 24 * 60 * 60, UNUSED_DAYS = 60, WALK_FDS = 16, PROJECTS = 4096 };
static const unsigned long long QUOTA = 8ULL << 30;

/* ---- places ---- */

/* STATE/buckle/layers */
static int layers_folder(char out[PATH_MAX])
{
    return state_path(out, "layers") && strlen(out) < PATH_MAX - LAYER_NAME - 8 ? 0 : -1;
}

/* Makes a folder and those above it. Notes those that were missing. */
static int make_folders(const char *path, struct kept_layers *k)
{
    char copy[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof(copy))
        return -1;
    memcpy(copy, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (copy[i] != '/' && copy[i])
            continue;
        copy[i] = '\0';
        if (mkdir(copy, 0700) == 0 && k) {
            char **more = realloc(k->made, (k->nmade + 1) * sizeof(*more));
            k->made = more ? more : k->made;
            char *one = more ? strdup(copy) : NULL;
            if (one)
                k->made[k->nmade++] = one;
        }
        copy[i] = i < n ? '/' : '\0';
    }
    return access(path, F_OK);
}

/* Whether to make a missing folder: not another system's. */
static bool is_worth_making(const char *path)
{
    return path[0] == '/' && !strstr(path, "/Library/") && access(path, F_OK) < 0;
}

/* ---- pruning ---- */

struct project {
    char name[NAME_MAX + 1];
    time_t used;
    unsigned long long bytes;
};

static unsigned long long walked;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    (void)type;
    (void)at;
    walked += (unsigned long long)st->st_blocks * 512;
    return 0;
}

/* Whether a run uses one of its layers, which it has locked then. */
static bool is_used(const char *project)
{
    bool used = false;
    DIR *d = opendir(project);
    for (struct dirent *e; d && !used && (e = readdir(d));) {
        OWN(fd)
        int fd = e->d_name[0] == '.'
                     ? -1
                     : openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
    }
    if (d)
        closedir(d);
    return used;
}

static int oldest_first(const void *a, const void *b)
{
    const struct project *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

static size_t list_projects(const char *layers, struct project *list)
{
    size_t n = 0;
    char path[PATH_MAX];
    DIR *d = opendir(layers);
    for (struct dirent *e; d && n < PROJECTS && (e = readdir(d));) {
        struct stat st;
        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISDIR(st.st_mode) ||
            snprintf(path, sizeof(path), "%s/%s", layers, e->d_name) >= PATH_MAX)
            continue;
        walked = 0;
        nftw(path, add_size, WALK_FDS, FTW_PHYS | FTW_MOUNT);
        list[n] = (struct project){.used = st.st_mtime, .bytes = walked};
        snprintf(list[n++].name, sizeof(list->name), "%s", e->d_name);
    }
    if (d)
        closedir(d);
    qsort(list, n, sizeof(*list), oldest_first);
    return n;
}

/* Moves it aside first, so that no run meets half of it. */
static bool remove_project(const char *layers, const char *name)
{
    char path[PATH_MAX], aside[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", layers, name) >= PATH_MAX ||
        snprintf(aside, sizeof(aside), "%s/.old", layers) >= PATH_MAX || is_used(path))
        return false;
    remove_tree(aside);
    if (rename(path, aside) < 0)
        return false;
    remove_tree(aside);
    return true;
}

void kept_layers_prune(const char *layers, unsigned long long quota, unsigned days)
{
    OWN(mem) struct project *list = calloc(PROJECTS, sizeof(*list));
    unsigned long long total = 0;
    size_t n = list ? list_projects(layers, list) : 0;
    time_t now = time(NULL);
    for (size_t i = 0; i < n; i++)
        total += list[i].bytes;
    for (size_t i = 0; i < n; i++) {
        bool unused = now - list[i].used > (time_t)days * DAY_S;
        if ((total > quota || unused) && remove_project(layers, list[i].name))
            total -= list[i].bytes;
    }
}

/* At most once a day, in a process that no one waits for. */
static void prune_sometimes(const char *layers)
{
    char stamp[PATH_MAX];
    struct stat st;
    if (snprintf(stamp, sizeof(stamp), "%s/.pruned", layers) >= PATH_MAX)
        return;
    if (stat(stamp, &st) == 0 && time(NULL) - st.st_mtime < DAY_S)
        return;
    OWN(fd) int fd = open(stamp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    pid_t pid = fd < 0 ? -1 : fork();
    if (pid == 0) {
        pid_t second = fork();
        if (second != 0)
            _exit(0);
        setsid();
        fd_close_range(0, -1);
        if (nice(10) < 0)
            _exit(1);
        kept_layers_prune(layers, QUOTA, UNUSED_DAYS);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- a run ---- */

static int lock_all(const char *layers)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/.lock", layers) >= PATH_MAX)
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_SH) < 0)
        close(steal_fd(&fd));
    return fd;
}

void kept_layers_open(struct kept_layers *k, const char *cwd, const struct places *caches)
{
    char layers[PATH_MAX], name[LAYER_NAME];
    *k = (struct kept_layers){.lock = -1};
    if (layers_folder(layers) < 0 || layers_name(cwd, name) < 0 || make_folders(layers, NULL) < 0)
        return;
    k->lock = lock_all(layers);
    snprintf(k->path, sizeof(k->path), "%.*s/%s", PATH_MAX - LAYER_NAME - 8, layers, name);
    if (k->lock < 0 || make_folders(k->path, NULL) < 0) {
        k->path[0] = '\0';
        return;
    }
    utimensat(AT_FDCWD, k->path, NULL, 0); /* used now: removed last */
    prune_sometimes(layers);
    for (size_t i = 0; i < caches->n; i++)
        if (caches->at[i].kind == PLACE_SUBPATH && is_worth_making(caches->at[i].path))
            make_folders(caches->at[i].path, k);
}

void kept_layers_close(struct kept_layers *k)
{
    /* removing a folder ends what other runs have mounted there */
    bool alone = k->nmade && k->lock >= 0 && flock(k->lock, LOCK_EX | LOCK_NB) == 0;
    for (size_t i = k->nmade; i-- > 0;) {
        if (alone)
            rmdir(k->made[i]);
        free(k->made[i]);
    }
    free(k->made);
    if (k->lock >= 0)
        close(k->lock);
    *k = (struct kept_layers){.lock = -1};
}
