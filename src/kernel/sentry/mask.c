/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Masks, where there is no FUSE for sentries. An empty folder that no process can enter covers a
 * denied folder, and /dev/null a denied file. If only some names in a folder are denied, each gets
 * its own mask. Folders too deep to inspect are denied as a whole.
 *
 * Nothing is recorded: a path is masked if the sandbox sees something else there than the host
 * does.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/launch/device-wall.h"
#include "kernel/sentry/sentry-main.h"

enum { DEPTH = 4 };

static int empty_folder(void)
{
    OWN(fd) int fs = (int)syscall(SYS_fsopen, "tmpfs", KABI_FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, KABI_FSCONFIG_STRING, "mode", "0", 0) < 0 ||
        syscall(SYS_fsconfig, fs, KABI_FSCONFIG_STRING, "nr_inodes", "1", 0) < 0 ||
        syscall(SYS_fsconfig, fs, KABI_FSCONFIG_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int tree = (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC,
                            KABI_MOUNT_RDONLY | KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV);
    return tree < 0 ? -errno : tree;
}

static int cover(int on, bool folder)
{
    OWN(fd)
    int tree = folder ? empty_folder()
                      : (int)syscall(SYS_open_tree, AT_FDCWD, "/dev/null",
                                     KABI_OPEN_TREE_CLONE | O_CLOEXEC);
    if (tree < 0)
        return folder ? tree : -errno;
    if (!folder)
        devices_open_tree(tree); /* it reads as empty, even where other devices are closed */
    if (syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) == 0)
        return 0;
    /* it was removed meanwhile: an event follows for its replacement */
    return errno == ENOENT ? 0 : -errno;
}

static bool is_denied(const struct sentry_process *p, const char *path, const struct stat *st)
{
    struct graph_fact facts[2 + FILE_NAME_FACTS] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)},
        {.filter = FILTER_VNODE_TYPE, .num = S_ISDIR(st->st_mode) ? 2 : 1}};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = facts, .nfacts = 2};
    q.nfacts += file_names_facts(p->names, path, strlen(path), facts + 2);
    return !file_names_eval(p->names, p->task->graph, p->cache, &q).allow;
}

static int mask(struct sentry_process *p, const char *path, bool whole, int depth);

/* Masks what is denied in a folder that is not wholly denied. */
static int mask_inside(struct sentry_process *p, const char *path, int folder, int depth)
{
    char name[PLAN_SENTRY_PATH + 300], self[32];
    snprintf(self, sizeof(self), "self/fd/%d", folder);
    int fd = openat(p->proc, self, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return errno == EACCES ? 0 : -errno; /* we could not read it either */
    for (struct dirent *e; err == 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int n = snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        err = n < (int)sizeof(name) ? mask(p, name, false, depth + 1) : -ENAMETOOLONG;
    }
    closedir(d);
    return err;
}

static int mask(struct sentry_process *p, const char *path, bool whole, int depth)
{
    struct stat outside, inside;
    OWN(fd) int real = sentry_process_open(p, path);
    OWN(fd) int seen = sentry_process_open_inside(path);
    if (sentry_process_is_nothing(real) || sentry_process_is_nothing(seen))
        return 0; /* an event follows when that changes */
    if (real < 0 || seen < 0)
        return real < 0 ? real : seen;
    if (fstat(real, &outside) < 0 || fstat(seen, &inside) < 0)
        return -errno;
    bool same = outside.st_ino == inside.st_ino && outside.st_dev == inside.st_dev;
    /* what appears below a layer shows in it under other numbers */
    if ((!same && !sentry_layers_show(seen)) || S_ISLNK(outside.st_mode))
        return 0;
    bool folder = S_ISDIR(outside.st_mode);
    if (whole || is_denied(p, path, &outside) || (folder && depth == DEPTH))
        return cover(seen, folder);
    return folder ? mask_inside(p, path, real, depth) : 0;
}

int sentry_process_hide(struct sentry_process *p, const char *path)
{
    return mask(p, path, true, 0);
}

int sentry_process_mask(struct sentry_process *p, size_t i)
{
    const struct plan_sentry *g = &p->plan->sentries[i];
    if (!p->cache && !(p->cache = graph_cache_new(p->task->graph)))
        return -ENOMEM;
    if (!mounts_now(&p->names->mounts, true))
        return -EIO;
    return mask(p, g->path, g->whole, 0);
}
