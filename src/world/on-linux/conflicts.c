/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A file that was changed, replaced, renamed or linked has a later ctime, which no process can set
 * back. So what has a ctime after the world's beginning has changed outside as well. A file that
 * the layer copied, and that does not exist outside any longer, was removed there.
 */

#include "world/on-linux/conflicts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "world/on-linux/below.h"
#include "world/on-linux/upper.h"

enum { DEPTH_MOST = 256 };

int path_order(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    int x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;
    /* names may have the byte 1; a slash is before it */
    if (x == 1 && y == 1 && *a != *b)
        return *a == '/' ? -1 : 1;
    return x - y;
}

bool path_is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return n == 0 ? *path != '\0' : strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool has_changed(const struct stat *st, const struct since *since)
{
    return is_later(&st->st_ctim, &since->time) && !undone_has(since->undone, st);
}

/* ---- trees ---- */

/* The user's own tree, or what a command made of it: as deep as descriptors allow. */
static bool tree_changed(int above, const char *name, const struct since *since, int depth)
{
    struct stat st;
    if (depth > DEPTH_MOST)
        return true;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return fd >= 0 ? close(fd), true : true;
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || has_changed(&st, since))
            return true;
        if (S_ISDIR(st.st_mode) && tree_changed(dirfd(d), e->d_name, since, depth + 1))
            return true;
    }
    return false;
}

bool conflicts_in_tree(int folder, const char *name, const struct since *since, bool inside)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    /* entries that came or went changed the folder's mtime, a rename of it did not */
    if (inside ? is_later(&st.st_mtim, &since->time) : has_changed(&st, since))
        return true;
    return S_ISDIR(st.st_mode) && tree_changed(folder, name, since, 0);
}

/* ---- one change ---- */

/* Its own mode, owner or attributes: entries that came or went don't matter, and change both
 * times. */
static bool folder_conflicts(const struct world *w, const struct change *c,
                             const struct since *since)
{
    struct stat st;
    if (!(c->differs & ~DIFFERS_TIME))
        return false;
    return beneath_stat(w->places[c->place].lower, c->path, &st) == 0 && has_changed(&st, since) &&
           !is_later(&st.st_mtim, &since->time);
}

/* What was renamed in the world has an origin with another name, which is removed now. A second
 * name keeps the first. A folder cannot be renamed. */
static bool has_vanished(const struct change *c, bool removed_folders)
{
    if (!c->copied)
        return false;
    return S_ISDIR(c->new_mode) || (c->origin[0] && !c->from && c->links == 1 && !removed_folders);
}

static bool is_conflict(const struct world *w, const struct change *c, const struct since *since,
                        bool removed_folders)
{
    const char *name;
    if (w->on[0])
        return below_conflicts(w, c);
    if (c->kind == CHANGE_FOLDER)
        return folder_conflicts(w, c, since);
    if (!c->old_mode)
        return has_vanished(c, removed_folders);
    OWN(fd) int above = beneath_above(w->places[c->place].lower, c->path, &name);
    return above < 0 || conflicts_in_tree(above, name, since, false);
}

static int by_inode(const void *a, const void *b)
{
    const struct change *const *x = a, *const *y = b;
    uint32_t i = (uint32_t)(*x)->old_ino, k = (uint32_t)(*y)->old_ino;
    return i < k ? -1 : i > k;
}

/* Finds the old names of what was renamed. */
static void find_renamed(struct changes *c, struct change **removed, size_t n)
{
    for (size_t i = 0; i < c->n; i++) {
        struct change *one = &c->at[i];
        if (!one->copied || one->kind != CHANGE_ADDED || !one->origin[0])
            continue;
        for (size_t k = 0; k < 2 && !one->from; k++) {
            const struct change key = {.old_ino = one->origin[k]}, *wanted = &key;
            struct change **found =
                one->origin[k] ? bsearch(&wanted, removed, n, sizeof(struct change *), by_inode)
                               : NULL;
            if (found && (*found)->place == one->place)
                one->from = (*found)->path;
        }
    }
}

void conflicts_find(const struct world *w, struct changes *c)
{
    size_t n = 0;
    bool folders = false;
    OWN(undone) struct undone undone;
    undone_read(w, &undone);
    const struct since since = {w->begun, &undone};
    OWN(mem) struct change **removed = calloc(c->n + 1, sizeof(struct change *));
    for (size_t i = 0; removed && i < c->n; i++) {
        if (c->at[i].kind == CHANGE_REMOVED)
            removed[n++] = &c->at[i];
        folders |= S_ISDIR(c->at[i].old_mode) && c->at[i].kind != CHANGE_FOLDER;
    }
    if (n) {
        qsort(removed, n, sizeof(struct change *), by_inode);
        find_renamed(c, removed, n);
    }
    for (size_t i = 0; i < c->n; i++) {
        struct change *one = &c->at[i];
        if ((!one->root && one->kind != CHANGE_FOLDER) || !is_conflict(w, one, &since, folders))
            continue;
        one->marks |= MARK_CONFLICT;
        c->conflicts++;
    }
}
