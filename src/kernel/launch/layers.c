/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One layer after another: open what is there, copy the mounts that must stay the real ones, mount
 * the overlay, and attach the copies over it. All paths are canonical, and none may lead through a
 * symlink that another process has put there since.
 *
 * Two runs cannot share an upper side. The first one locks a kept layer; a second run at the same
 * time reads it, and what that one writes ends with it.
 */

#include "kernel/launch/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "kernel/host/kabi.h"

/* ---- names ---- */

static int open_plain(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

/* ---- what stays real ---- */

struct copies {
    int trees[LAYER_BACK];
    size_t n;
};

static void copies_close(struct copies *c)
{
    for (size_t i = 0; i < c->n; i++)
        close(c->trees[i]);
}
#define OWN_copies copies_close

static int copy_tree(const char *path)
{
    OWN(fd) int fd = open_plain(path);
    if (fd < 0)
        return fd;
    int tree = (int)syscall(SYS_open_tree, fd, "",
                            KABI_OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | KABI_AT_RECURSIVE);
    return tree < 0 ? -errno : tree;
}

/* Where no judge decides, what is put back must not be writable: the wall around a layer also opens
 * what is mounted in it. */
static int close_tree(const struct plan *p, int tree, const char *path)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.set = KABI_MOUNT_RDONLY, .propagation = MS_PRIVATE /* nothing is added later */};
    const char *tmpdir = p->opt.tmpdir;
    if (!p->unjudged || path_is_below(path, strlen(path), tmpdir, strlen(tmpdir)) ||
        strcmp(path, tmpdir) == 0)
        return 0;
    return syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | KABI_AT_RECURSIVE, &attr,
                   sizeof(attr)) < 0
               ? -errno
               : 0;
}

static int put_aside(const struct plan *p, struct layer *l, struct copies *c, const char *path)
{
    if (layers_is_back(l, path, strlen(path)))
        return 0;
    if (l->nback == LAYER_BACK)
        return -E2BIG;
    int tree = copy_tree(path);
    if (tree < 0)
        return tree;
    c->trees[c->n++] = tree;
    int err = close_tree(p, tree, path);
    if (err < 0)
        return err;
    l->back[l->nback] = path;
    l->back_len[l->nback++] = (uint32_t)strlen(path);
    return 0;
}

/* An overlay shows one file system: others that are mounted in the folder are put back, too. */
static int put_aside_mounts(const struct plan *p, struct layer *l, struct copies *c)
{
    const struct mounts_view *view = p->opt.mounts;
    for (size_t i = 0; view && i < view->now.n; i++) {
        const struct mount_at *m = &view->now.list[i];
        if (!path_is_below(m->at, m->at_len, l->plan->path, l->plan->len))
            continue;
        int err = put_aside(p, l, c, m->at);
        if (err < 0 && err != -ENOENT && err != -EACCES && err != -ELOOP)
            return err;
    }
    return 0;
}

static int put_all_aside(const struct plan *p, struct layer *l, struct copies *c)
{
    /* a missing path that the policy opens could only be made in the layer, where nobody would find
     * it; one that is guarded may appear later, and nothing can be written there */
    for (size_t i = 0; i < l->plan->nreal; i++) {
        int err = put_aside(p, l, c, l->plan->real[i]);
        if (err < 0 && (i < l->plan->nopened || (err != -ENOENT && err != -ELOOP)))
            return err;
    }
    return put_aside_mounts(p, l, c);
}

static int attach(int tree, int on)
{
    return syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) < 0 ? -errno : 0;
}

static int put_all_back(const struct layer *l, const struct copies *c)
{
    for (size_t i = 0; i < c->n; i++) {
        OWN(fd) int on = open_plain(l->back[i]);
        int err = on < 0 ? on : attach(c->trees[i], on);
        if (err < 0)
            return err;
    }
    return 0;
}

/* ---- the upper side ---- */

enum { LAYERS_BELOW = 8 }; /* WORLD_BELOW of world/world.h */

/* The sides of an overlay. Closed together. */
struct sides {
    int lower;              /* what is there */
    int kept[LAYERS_BELOW]; /* what earlier runs or other worlds wrote, read only */
    size_t nkept;
    /* The mount that has them, or -1. It stays open: the last one to close a mount that is attached
     * nowhere waits for all processors, which takes longer than all the rest. */
    int memory;
    int upper, work; /* where this run writes */
    int lock;        /* kept layers: held as long as this process lives */
};

static void sides_close(struct sides *s)
{
    int all[] = {s->lower, s->upper, s->work};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] >= 0)
            close(all[i]);
    for (size_t i = 0; i < s->nkept; i++)
        close(s->kept[i]);
}
#define OWN_sides sides_close
#define SIDES_NONE                                                                                 \
    {                                                                                              \
        .lower = -1, .memory = -1, .upper = -1, .work = -1, .lock = -1                             \
    }

static int make_in(int folder, const char *name)
{
    if (mkdirat(folder, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The layer's top folder looks like the one below it. */
static void look_alike(int fd, const struct stat *st)
{
    if (fchown(fd, st->st_uid, st->st_gid) < 0) { /* an unmapped owner: it stays ours */
    }
    fchmod(fd, st->st_mode & 07777);
}

/* A world's top folder also has the times and attributes, so that only changes show. The working
 * directory is a procfs. */
static void look_same(int fd, int lower, const struct stat *st)
{
    char from[32], to[32], names[4096], value[4096];
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    snprintf(from, sizeof(from), "self/fd/%d", lower);
    snprintf(to, sizeof(to), "self/fd/%d", fd);
    ssize_t n = listxattr(from, names, sizeof(names));
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
        ssize_t len =
            strstr(names + i, ".overlay.") ? -1 : getxattr(from, names + i, value, sizeof(value));
        if (len >= 0)
            setxattr(to, names + i, value, (size_t)len, 0);
    }
    futimens(fd, times);
}

static bool is_empty_folder(int fd)
{
    char entries[1024];
    OWN(fd) int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = again < 0 ? 0 : syscall(SYS_getdents64, again, entries, sizeof(entries));
    return n <= 2 * 24; /* its "." and ".." */
}

static int make_sides_in(int folder, struct sides *s)
{
    s->upper = make_in(folder, "upper");
    s->work = s->upper < 0 ? s->upper : make_in(folder, "work");
    return s->work < 0 ? s->work : 0;
}

static int set_option(int fs, unsigned how, const char *key, const char *value)
{
    return syscall(SYS_fsconfig, fs, how, key, value, 0) < 0 ? -errno : 0;
}

/* Memory, mounted nowhere: nothing is left of it when the last process has gone. */
static int make_memory(struct sides *s)
{
    OWN(fd) int fs = (int)syscall(SYS_fsopen, "tmpfs", KABI_FSOPEN_CLOEXEC);
    if (fs < 0)
        return -errno;
    int err = set_option(fs, KABI_FSCONFIG_STRING, "size", "25%");
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "nr_inodes", "400k");
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_CREATE, NULL, NULL);
    if (err < 0)
        return err;
    s->memory =
        (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC, KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV);
    return s->memory < 0 ? -errno : make_sides_in(s->memory, s);
}

int layers_name(const char *path, char out[LAYER_NAME])
{
    size_t n = 0;
    for (const char *c = path + 1; *c; c++) {
        bool escaped = *c == '/' || *c == '%';
        if (n + 4 > LAYER_NAME)
            return -ENAMETOOLONG;
        n += (size_t)snprintf(out + n, 4, escaped ? "%%%02X" : "%c", (unsigned char)*c);
    }
    return 0;
}

static int open_kept(const char *kept, const char *path, struct sides *s)
{
    char name[LAYER_NAME];
    int err = layers_name(path, name);
    if (err < 0)
        return err;
    OWN(fd) int top = open(kept, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (top < 0)
        return -errno;
    OWN(fd) int folder = make_in(top, name);
    if (folder < 0)
        return folder;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0) {
        err = make_sides_in(folder, s);
        s->lock = steal_fd(&folder);
        return err;
    }
    int upper = make_in(folder, "upper");
    if (upper < 0)
        return upper;
    s->kept[s->nkept++] = upper;
    return make_memory(s);
}

/* ---- a world ---- */

enum { WORLD_PATH = 4096 };

/* Whether the folder of a world is for this path, which the file "path" in it says. A new one gets
 * that file. A path that is around or in a place of the world below would not show what that one
 * has written. */
static int is_for(int folder, const char *path)
{
    char text[WORLD_PATH];
    size_t len = strlen(path);
    OWN(fd) int fd = openat(folder, "path", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, text, sizeof(text));
        if (n < 0)
            return -errno;
        if ((size_t)n == len && memcmp(text, path, len) == 0)
            return 1;
        bool overlaps =
            path_is_below(path, len, text, (size_t)n) || path_is_below(text, (size_t)n, path, len);
        return overlaps && faccessat(folder, "below", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EXDEV : 0;
    }
    if (errno != ENOENT)
        return -errno;
    fd = openat(folder, "path", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    return write(fd, path, len) == (ssize_t)len ? 1 : -ENOSPC;
}

/* What the worlds below it had written. */
static int open_below(int folder, struct sides *s)
{
    OWN(fd) int below = openat(folder, "below", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (int i = 0; below >= 0 && i < LAYERS_BELOW; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d", i);
        int fd = openat(below, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return errno == ENOENT ? 0 : -errno;
        s->kept[s->nkept++] = fd;
    }
    return 0;
}

/* Its layers have numbers: a path can be longer than a name. */
static int open_world(int top, const char *path, struct sides *s)
{
    for (int i = 0; i < PLAN_LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%d", i);
        OWN(fd) int folder = make_in(top, name);
        int mine = folder < 0 ? folder : is_for(folder, path);
        if (mine < 0)
            return mine;
        if (!mine)
            continue;
        if (flock(folder, LOCK_EX | LOCK_NB) < 0)
            return -EBUSY;
        s->lock = steal_fd(&folder);
        int err = open_below(s->lock, s);
        return err < 0 ? err : make_sides_in(s->lock, s);
    }
    return -E2BIG;
}

/* ---- the overlay ---- */

/* The working directory is a procfs. */
static int set_side(int fs, const char *key, int one)
{
    char text[32];
    snprintf(text, sizeof(text), "self/fd/%d", one);
    return set_option(fs, KABI_FSCONFIG_STRING, key, text);
}

/* The kernel takes 255 bytes. */
static int set_lower(int fs, const struct sides *s)
{
    char text[256];
    size_t n = 0;
    for (size_t i = 0; i < s->nkept; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "self/fd/%d:", s->kept[i]);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "self/fd/%d", s->lower);
    return n >= sizeof(text) ? -E2BIG : set_option(fs, KABI_FSCONFIG_STRING, "lowerdir", text);
}

static int make_overlay(bool user_ns, bool world, const struct sides *s)
{
    enum { NOEXEC = 0x08 };
    struct statvfs vfs;
    OWN(fd) int fs = (int)syscall(SYS_fsopen, "overlay", KABI_FSOPEN_CLOEXEC);
    if (fs < 0)
        return -errno;
    int err = set_lower(fs, s);
    err = err < 0 ? err : set_side(fs, "upperdir", s->upper);
    err = err < 0 ? err : set_side(fs, "workdir", s->work);
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_STRING, "index", "off");
    if (err == 0 && user_ns)
        err = set_option(fs, KABI_FSCONFIG_FLAG, "userxattr", NULL);
    /* what is in a world's upper side is read again, and must be whole */
    if (err == 0 && world && !user_ns)
        err = set_option(fs, KABI_FSCONFIG_STRING, "redirect_dir", "nofollow");
    if (err == 0 && world && !user_ns)
        err = set_option(fs, KABI_FSCONFIG_STRING, "metacopy", "off");
    err = err < 0 ? err : set_option(fs, KABI_FSCONFIG_CREATE, NULL, NULL);
    if (err < 0)
        return err;
    bool noexec = fstatvfs(s->lower, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC);
    int tree = (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC,
                            KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV | (noexec ? NOEXEC : 0));
    return tree < 0 ? -errno : tree;
}

static int open_lower(const char *path, struct stat *st)
{
    OWN(fd) int fd = open_plain(path);
    if (fd < 0)
        return fd;
    if (fstat(fd, st) < 0)
        return -errno;
    return S_ISDIR(st->st_mode) ? steal_fd(&fd) : -ENOTDIR;
}

/* Where the upper sides are of layers that outlive the run. */
struct uppers {
    const char *kept;
    int world; /* opened before anything was mounted that could cover it; -1: none */
};

static int make_sides(const struct plan_layer *l, const struct uppers *u, struct sides *s)
{
    if (l->kind == LAYER_TRY)
        return u->world < 0 ? -ENXIO : open_world(u->world, l->path, s);
    if (l->kind == LAYER_KEPT)
        return u->kept ? open_kept(u->kept, l->path, s) : -ENOENT;
    return make_memory(s);
}

static int make_layer(const struct plan_layer *l, bool user_ns, const struct uppers *u,
                      const struct stat *st, struct sides *s)
{
    int err = make_sides(l, u, s);
    if (err < 0)
        return err;
    bool world = l->kind == LAYER_TRY;
    bool again = world && !is_empty_folder(s->upper); /* it is as an earlier command left it */
    int like = world && s->nkept ? s->kept[0] : s->lower;
    struct stat top = *st;
    if (like != s->lower && fstat(like, &top) < 0)
        return -errno;
    if (!again)
        look_alike(s->upper, &top);
    if (world && !again)
        look_same(s->upper, like, &top);
    return make_overlay(user_ns, world, s);
}

void layers_prepare(const char *const paths[LAYERS_PREPARED], bool user_ns,
                    int trees[LAYERS_PREPARED])
{
    for (size_t i = 0; i < LAYERS_PREPARED; i++)
        trees[i] = -1;
    const struct uppers none = {NULL, -1};
    for (size_t i = 0; i < LAYERS_PREPARED && paths[i]; i++) {
        struct stat st;
        const struct plan_layer one = {.path = paths[i], .kind = LAYER_RUN};
        OWN(sides) struct sides s = SIDES_NONE;
        s.lower = open_lower(paths[i], &st);
        int tree = s.lower < 0 ? -1 : make_layer(&one, user_ns, &none, &st, &s);
        trees[i] = tree < 0 ? -1 : tree;
    }
}

/* A layer that init has prepared; -1: none. */
static int take_prepared(const struct layers_mounting *m, const struct plan_layer *l)
{
    for (size_t i = 0; i < LAYERS_PREPARED && m->paths[i]; i++)
        if (l->kind == LAYER_RUN && strcmp(m->paths[i], l->path) == 0)
            return m->trees[i];
    return -1;
}

/* What another process gives as a layer could be the folder itself, where that one has none. */
static bool is_overlay(int fd, dev_t below)
{
    struct stat st;
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC && fstat(fd, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_dev != below;
}

/* given: a layer that others have as well, or -1. */
static int mount_layer(const struct plan *p, const struct layers_mounting *m, int world, int given,
                       struct layer *l)
{
    const struct uppers uppers = {m->kept, world};
    struct stat st;
    OWN(copies) struct copies copies = {.n = 0};
    OWN(sides) struct sides s = SIDES_NONE;
    OWN(fd) int tree = given;
    l->nback = 0;
    s.lower = open_lower(l->plan->path, &st);
    if (s.lower >= 0 && tree >= 0 && !is_overlay(tree, st.st_dev))
        return -EXDEV;
    int err = s.lower < 0 ? s.lower : put_all_aside(p, l, &copies);
    if (err < 0)
        return err;
    l->lower = st.st_dev;
    if (tree < 0)
        tree = take_prepared(m, l->plan);
    if (tree < 0)
        tree = make_layer(l->plan, p->user_ns, &uppers, &st, &s);
    err = tree < 0 ? tree : attach(tree, s.lower);
    if (err < 0)
        return err;
    err = put_all_back(l, &copies);
    if (err < 0)
        umount2(l->plan->path, MNT_DETACH);
    else
        l->below = steal_fd(&s.lower);
    return err;
}

int layers_mount(const struct plan *p, const struct layers_mounting *m, struct layers *out)
{
    int missing = 0;
    out->n = 0;
    if (p->nlayers == 0)
        return 0;
    OWN(fd)
    int world = m->world ? open(m->world, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if ((m->world && world < 0) || fchdir(m->proc) < 0)
        return -errno;
    int moves = world < 0 ? -1
                          : openat(world, "moves",
                                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    out->moves = moves > 0 ? moves : 0;
    for (size_t i = 0; i < p->nlayers; i++) {
        struct layer *l = &out->at[out->n];
        int given = m->given ? m->given[i] : -1;
        l->plan = &p->layers[i];
        if (given >= 0 && l->plan->guarded && l->plan->kind != LAYER_TRY)
            close(steal_fd(&given));
        /* others may have removed or moved in it what has to stay real here: then one of our own */
        l->shared = given >= 0 && mount_layer(p, m, world, given, l) == 0;
        int err = l->shared ? 0 : l->plan->shown ? -ENOENT : mount_layer(p, m, world, -1, l);
        if (err == 0)
            out->n++;
        else if (l->plan->kind == LAYER_TRY && err != -ENOENT && err != -ENOTDIR)
            missing = err;
    }
    return missing;
}

/* ---- layers of several sandboxes ---- */

int layers_hold(const char *path, bool user_ns)
{
    const char *const paths[LAYERS_PREPARED] = {path};
    int trees[LAYERS_PREPARED];
    OWN(fd) int on = open_plain(path);
    if (on < 0)
        return on;
    layers_prepare(paths, user_ns, trees);
    OWN(fd) int tree = trees[0];
    int err = tree < 0 ? -ENOSYS : attach(tree, on);
    return err < 0 ? err : steal_fd(&tree);
}

int layers_hold_place(const char *path, bool user_ns, int world)
{
    struct stat st;
    const struct plan_layer one = {.path = path, .kind = LAYER_TRY};
    const struct uppers uppers = {NULL, world};
    OWN(sides) struct sides s = SIDES_NONE;
    s.lower = open_lower(path, &st);
    if (s.lower < 0)
        return s.lower;
    OWN(fd) int tree = make_layer(&one, user_ns, &uppers, &st, &s);
    int err = tree < 0 ? tree : attach(tree, s.lower);
    if (err < 0 && s.lock >= 0)
        close(steal_fd(&s.lock));
    return err < 0 ? err : steal_fd(&tree);
}

int layers_find(const char *path)
{
    struct statfs fs;
    OWN(fd) int fd = open_plain(path);
    if (fd < 0)
        return fd;
    return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC ? steal_fd(&fd) : -ENOENT;
}

int layers_copy(int layer)
{
    int tree =
        (int)syscall(SYS_open_tree, layer, "", KABI_OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
    return tree < 0 ? -errno : tree;
}
