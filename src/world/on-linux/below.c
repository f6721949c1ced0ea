/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A world on top of another one has frozen copies of everything that is below it, so it stays what
 * it is when that one goes on. Keeping it makes a new upper side for each place of the world below:
 * second names of the files that are there, with this world's changes. When all are complete, a
 * file "swap" says so, and each takes the old one's name. A killed process leaves either no such
 * file, and what it made is removed, or one, and the rest of the renames follows.
 */

#include "world/on-linux/below.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"
#include "world/checkpoints.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/copy.h"
#include "world/on-linux/journal.h"
#include "world/on-linux/snapshot.h"
#include "world/on-linux/upper.h"

enum { NAME = 16 };

static int open_in(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int make_in(int folder, const char *name)
{
    return mkdirat(folder, name, 0700) < 0 && errno != EEXIST ? -errno : open_in(folder, name);
}

static void step(void)
{
    if (world_keep_step)
        world_keep_step();
}

/* ---- beginning ---- */

static int write_path(int folder, const char *path)
{
    OWN(fd) int fd = openat(folder, "path", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t n = strlen(path);
    return fd < 0 ? -errno : write(fd, path, n) == (ssize_t)n ? 0 : -ENOSPC;
}

/* The newest checkpoint of a place shares its files with the copy. */
static int newest_copy(const struct world *w, int folder)
{
    char name[40];
    struct checkpoint *list;
    size_t n = checkpoints_list(w, &list);
    unsigned last = n ? list[n - 1].number : 0;
    checkpoints_free(list, n);
    snprintf(name, sizeof(name), "checkpoint/%u", last);
    return last ? open_in(folder, name) : -1;
}

static int begin_place(const struct world *w, const struct world *on, const struct world_place *p)
{
    char name[NAME];
    bool differs = false;
    snprintf(name, sizeof(name), "%d", p->number);
    OWN(fd) int theirs = open_in(on->fd, name);
    OWN(fd) int folder = make_in(w->fd, name);
    if (theirs < 0 || folder < 0)
        return theirs < 0 ? theirs : folder;
    OWN(fd) int below = make_in(folder, "below");
    OWN(fd) int earlier = newest_copy(on, theirs);
    int err = below < 0 ? below : write_path(folder, p->path);
    err = err < 0 ? err : snapshot_copy(p->upper, below, "0", earlier, &differs);
    for (size_t i = 0; i < p->nbelow && err == 0; i++) {
        snprintf(name, sizeof(name), "%zu", i + 1);
        err = snapshot_link(p->below[i], below, name);
    }
    return err;
}

int world_begin_on(struct world *w, const char *on, struct bk_err *err)
{
    OWN(world) struct world below;
    int error = 0;
    if (world_look(&below, on, err) < 0)
        return -1;
    for (size_t i = 0; i < below.nplaces && error == 0; i++)
        error = below.places[i].nbelow == WORLD_BELOW ? -E2BIG
                                                      : begin_place(w, &below, &below.places[i]);
    if (error == -E2BIG)
        return err_set(err, BK_E_INPUT, "at most %d worlds can be on top of each other",
                       WORLD_BELOW + 1);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "cannot begin with the world %s", on);
    }
    memcpy(w->on, below.id, sizeof(w->on));
    return 0;
}

void world_open_below(const struct world *w, struct world_place *p, int folder)
{
    char path[PATH_MAX + 64], name[NAME];
    OWN(fd) int below = open_in(folder, "below");
    p->parent = -1;
    for (p->nbelow = 0; below >= 0 && p->nbelow < WORLD_BELOW; p->nbelow++) {
        snprintf(name, sizeof(name), "%zu", p->nbelow);
        int fd = open_in(below, name);
        if (fd < 0)
            break;
        p->below[p->nbelow] = fd;
    }
    if (!w->on[0])
        return;
    snprintf(path, sizeof(path), "%s/../%s/%d/upper", w->folder, w->on, p->number);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    p->parent = fd;
}

/* ---- conflicts ---- */

/* Times say nothing: another world that was kept there gave files a second name meanwhile. */

enum { DEPTH_MOST = 256 };

/* One name in two folders. */
struct pair {
    int one, other;
    const char *name;
};

static bool same_tree(const struct pair *p, int depth);

static size_t count_names(DIR *d)
{
    size_t n = 0;
    while (readdir(d))
        n++;
    rewinddir(d);
    return n;
}

static DIR *open_dir(int above, const char *name)
{
    int fd = open_in(above, name);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    return d;
}

static bool same_folder(const struct pair *p, int depth)
{
    OWN(dir) DIR *a = open_dir(p->one, p->name);
    OWN(dir) DIR *b = open_dir(p->other, p->name);
    if (!a || !b || depth > DEPTH_MOST || upper_is_opaque(dirfd(a)) != upper_is_opaque(dirfd(b)) ||
        count_names(a) != count_names(b))
        return false;
    for (struct dirent *e; (e = readdir(a));) {
        const struct pair in = {dirfd(a), dirfd(b), e->d_name};
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !same_tree(&in, depth + 1))
            return false;
    }
    return true;
}

static bool same_link(const struct pair *p)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t n = readlinkat(p->one, p->name, a, sizeof(a));
    return n >= 0 && readlinkat(p->other, p->name, b, sizeof(b)) == n &&
           memcmp(a, b, (size_t)n) == 0;
}

static bool same_file(const struct pair *p)
{
    const int how = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
    OWN(fd) int a = openat(p->one, p->name, how);
    OWN(fd) int b = openat(p->other, p->name, how);
    return a >= 0 && b >= 0 && same_bytes(a, b);
}

static bool same_tree(const struct pair *p, int depth)
{
    struct stat a, b;
    if (fstatat(p->one, p->name, &a, AT_SYMLINK_NOFOLLOW) < 0 ||
        fstatat(p->other, p->name, &b, AT_SYMLINK_NOFOLLOW) < 0 || a.st_mode != b.st_mode)
        return false;
    switch (a.st_mode & S_IFMT) {
    case S_IFDIR:
        return same_folder(p, depth);
    case S_IFLNK:
        return same_link(p);
    case S_IFREG:
        return a.st_size == b.st_size && same_file(p);
    default:
        return true;
    }
}

bool below_conflicts(const struct world *w, const struct change *c)
{
    struct stat st;
    const struct world_place *p = &w->places[c->place];
    struct pair at;
    if (p->parent < 0)
        return true;
    OWN(fd) int then = beneath_above(p->below[0], c->path, &at.name);
    OWN(fd) int now = beneath_above(p->parent, c->path, &at.name);
    if (c->kind == CHANGE_FOLDER)
        return (then < 0) != (now < 0);
    at.one = then;
    at.other = now;
    bool was = then >= 0 && fstatat(then, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool is = now >= 0 && fstatat(now, at.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (now < 0 && now != -ENOENT)
        return true;
    return was != is || (was && !same_tree(&at, 0));
}

/* ---- keeping ---- */

/* The new upper side of one place. */
struct next {
    const struct world *w;
    const struct changes *c;
    const struct world_place *p;
    int top;
};

/* A folder that is new must not show what the real one has. */
static int make_opaque(int above, const char *name)
{
    char path[40];
    OWN(fd) int fd = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0)
        return -errno;
    int mine = setxattr(path, "user.overlay.opaque", "y", 1, 0);
    int roots = setxattr(path, "trusted.overlay.opaque", "y", 1, 0); /* only root can */
    return mine < 0 && roots < 0 ? -errno : 0;
}

static int dress(const struct next *n, const char *path)
{
    OWN(fd) int from = beneath_open(n->p->upper, path, O_RDONLY | O_DIRECTORY);
    OWN(fd) int to = beneath_open(n->top, path, O_RDONLY | O_DIRECTORY);
    return look_copy_folder(from, to);
}

static int put_row(const struct next *n, const struct change *c)
{
    const char *name, *theirs;
    OWN(fd) int above = beneath_above(n->top, c->path, &name);
    OWN(fd) int from = beneath_above(n->p->upper, c->path, &theirs);
    if (above < 0 || from < 0)
        return above < 0 ? above : from;
    if (c->kind == CHANGE_FOLDER) /* its rows follow */
        return mkdirat(above, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
    if (c->root)
        remove_tree_at(above, name);
    if (c->marks & MARK_LEFT_OUT)
        return 0;
    if (c->kind == CHANGE_REMOVED)
        return mknodat(above, name, S_IFCHR, makedev(0, 0)) < 0 ? -errno : 0;
    if (S_ISDIR(c->new_mode)) {
        int made = mkdirat(above, name, 0700);
        return made < 0 ? -errno : make_opaque(above, name);
    }
    if (linkat(from, theirs, above, name, 0) < 0)
        return -errno;
    /* where it was copied from is not below the other world */
    struct stat st;
    if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        upper_strip(above, name, &st);
    return 0;
}

static int put_rows(const struct next *n)
{
    int err = 0;
    size_t place = (size_t)(n->p - n->w->places);
    for (size_t i = 0; i < n->c->n && err == 0; i++)
        if (n->c->at[i].place == place && *n->c->at[i].path)
            err = put_row(n, &n->c->at[i]);
    for (size_t i = n->c->n; i-- > 0 && err == 0;) {
        const struct change *c = &n->c->at[i];
        if (c->place == place && c->kind != CHANGE_REMOVED && S_ISDIR(c->new_mode) &&
            !(c->marks & MARK_LEFT_OUT))
            err = dress(n, c->path);
    }
    return err;
}

static int make_next(const struct world *w, const struct changes *c, const struct world *below,
                     const struct world_place *p)
{
    char name[NAME];
    snprintf(name, sizeof(name), "%d", p->number);
    OWN(fd) int folder = make_in(below->fd, name);
    if (folder < 0)
        return folder;
    OWN(fd) int upper = make_in(folder, "upper");
    OWN(fd) int path = openat(folder, "path", O_RDONLY | O_CLOEXEC);
    if (upper < 0)
        return upper;
    int err = path < 0 ? write_path(folder, p->path) : 0; /* a place that it did not have */
    remove_tree_at(folder, "upper.next");
    err = err < 0 ? err : snapshot_link(upper, folder, "upper.next");
    if (err < 0)
        return err;
    step();
    OWN(fd) int top = open_in(folder, "upper.next");
    const struct next n = {w, c, p, top};
    return top < 0 ? top : put_rows(&n);
}

static void swap_place(int folder)
{
    if (faccessat(folder, "upper.next", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    step();
    renameat(folder, "upper", folder, "upper.old");
    step();
    renameat(folder, "upper.next", folder, "upper");
}

/* Each name is one of a small set, so all are tried. */
static void for_each_place(const struct world *w, void (*fn)(int folder))
{
    for (int i = 0; i < WORLD_PLACES; i++) {
        char name[NAME];
        snprintf(name, sizeof(name), "%d", i);
        OWN(fd) int folder = open_in(w->fd, name);
        if (folder >= 0)
            fn(folder);
    }
}

static void clean_place(int folder)
{
    remove_tree_at(folder, "upper.next");
    remove_tree_at(folder, "upper.old");
}

bool world_finish_swap(const struct world *w)
{
    if (faccessat(w->fd, "swap", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
        for_each_place(w, clean_place);
        return false;
    }
    for_each_place(w, swap_place);
    unlinkat(w->fd, "swap", 0);
    for_each_place(w, clean_place);
    return true;
}

static int write_swap(const struct world *w)
{
    OWN(fd) int fd = openat(w->fd, "swap", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || syncfs(fd) < 0 || fsync(w->fd) < 0)
        return -errno;
    return 0;
}

static int prepare(const struct world *w, const struct changes *c, struct world *below)
{
    int err = 0;
    for (size_t i = 0; i < w->nplaces && err == 0; i++)
        err = make_next(w, c, below, &w->places[i]);
    step();
    err = err < 0 ? err : write_swap(below);
    if (err < 0)
        for_each_place(below, clean_place);
    return err;
}

long world_keep_below(struct world *w, const struct changes *c, struct bk_err *err)
{
    OWN(world) struct world below;
    struct bk_err ignored;
    if (world_open(&below, w->on, err) < 0)
        return -1;
    int error = prepare(w, c, &below);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "nothing was kept in the world %s", w->on);
    }
    world_finish_swap(&below);
    long kept = 0;
    for (size_t i = 0; i < c->n; i++)
        kept += change_is_shown(&c->at[i]);
    /* its files are those of the world below now */
    world_discard(w, &ignored);
    return kept;
}
