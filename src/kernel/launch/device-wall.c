/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A mount option forbids opening devices through it (nodev). All of the sandbox's mounts get it,
 * and each device that may be opened gets its own mount, on itself, without it. The kernel checks
 * this whatever name, file descriptor or link led there, and no call in the sandbox can change it.
 *
 * /dev/pts stays open as a whole, because it is the sandbox's own. /dev/ptmx looks for pts beside
 * itself, where a mount of a single file has nothing, so the ptmx inside /dev/pts replaces it.
 */

#include "kernel/launch/device-wall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"

enum { OPENED = 512, DEPTH = 3 };

/* Mounts that are made before everything is closed, and attached afterwards. */
struct opened {
    int trees[OPENED]; /* -1: init has made it, or should have */
    const char *paths[OPENED];
    size_t n;
    struct arena arena;
    const struct graph *graph; /* for checking what is found */
    struct graph_cache *cache;
    uid_t uid;
    gid_t gid;
};

static int set_attributes(int at, const char *path, unsigned flags, uint64_t set, uint64_t clear)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.set = set, .clear = clear};
    return syscall(SYS_mount_setattr, at, path, flags, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* No program of the sandbox gains a capability from its file. Root's kernel would refuse to start
 * one that wants to, such as ping; this way it starts without. */
int devices_close(void)
{
    return set_attributes(AT_FDCWD, "/", KABI_AT_RECURSIVE, KABI_MOUNT_NODEV | KABI_MOUNT_NOSUID,
                          0);
}

int devices_close_tree(int tree)
{
    return set_attributes(tree, "", AT_EMPTY_PATH | KABI_AT_RECURSIVE, KABI_MOUNT_NODEV, 0);
}

int devices_open_tree(int tree)
{
    return set_attributes(tree, "", AT_EMPTY_PATH, 0, KABI_MOUNT_NODEV);
}

/* ---- what stays open ---- */

static bool is_device(mode_t mode)
{
    return S_ISCHR(mode) || S_ISBLK(mode);
}

/* As (vnode-type …) counts. */
static int type_of(mode_t mode)
{
    return S_ISBLK(mode) ? 3 : 4;
}

static const char *const usual[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};
enum { USUAL = sizeof(usual) / sizeof(usual[0]) };

static bool is_usual(const char *path)
{
    for (size_t i = 0; i < USUAL; i++)
        if (strcmp(path, usual[i]) == 0)
            return true;
    return false;
}

static int clone_mount(const char *path)
{
    return (int)syscall(SYS_open_tree, AT_FDCWD, path,
                        KABI_OPEN_TREE_CLONE | O_CLOEXEC | AT_SYMLINK_NOFOLLOW);
}

/* What cannot be opened again stays closed, and so does what turns out to be of another type: a
 * listing shows what is below a mount. */
static void keep(struct opened *o, const char *path, mode_t mode)
{
    struct stat st;
    bool maker = strcmp(path, "/dev/ptmx") == 0, made = is_usual(path);
    char *name = o->n < OPENED ? arena_strndup(&o->arena, path, strlen(path)) : NULL;
    OWN(fd) int tree = name && maker ? clone_mount("/dev/pts/ptmx") : -1;
    if (name && tree < 0 && !made)
        tree = clone_mount(path);
    if (!name || (tree < 0 && !made) ||
        fstatat(tree, made ? path : "", &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ||
        (st.st_mode & S_IFMT) != (mode & S_IFMT))
        return;
    o->trees[o->n] = steal_fd(&tree);
    o->paths[o->n++] = name;
}

static bool is_allowed(const struct opened *o, const char *path, mode_t mode)
{
    struct graph_fact facts[] = {
        {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)},
        {.filter = FILTER_VNODE_TYPE, .num = type_of(mode)},
        {.filter = FILTER_UID, .num = o->uid},
        {.filter = FILTER_GID, .num = o->gid}};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = facts, .nfacts = 4};
    return graph_eval(o->graph, o->cache, &q).allow;
}

/* These are the sandbox's own, or shared folders. */
static bool is_left_out(const char *path)
{
    static const char *const names[] = {"/dev/pts", "/dev/shm", "/dev/mqueue", "/dev/hugepages"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

/* Consoles and their contents: more than all other devices together, and useless without the
 * capabilities that go with them. Each would need a mount. */
static bool is_console(const char *name)
{
    return strncmp(name, "vcs", 3) == 0 ||
           (strncmp(name, "tty", 3) == 0 && name[3] >= '0' && name[3] <= '9');
}

/* Whether this user could open it at all. Others need no mount. */
static bool can_open(uid_t uid, const char *path)
{
    return uid == 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* The type of an entry; 0 for what cannot be a device or contain one. Containers mount devices on
 * plain files, so one of these may be a device. */
static mode_t type_of_entry(const struct dirent *e, const char *path)
{
    struct stat st;
    if (e->d_type == DT_DIR || e->d_type == DT_CHR || e->d_type == DT_BLK)
        return DTTOIF(e->d_type);
    if (e->d_type != DT_REG && e->d_type != DT_UNKNOWN)
        return 0;
    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

typedef void device_fn(void *arg, const char *path, mode_t mode);

static void each_device(const char *folder, int depth, device_fn *fn, void *arg)
{
    char path[512];
    DIR *d = depth < DEPTH ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        int n = snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || is_console(e->d_name) || n >= (int)sizeof(path) ||
            is_left_out(path))
            continue;
        mode_t mode = type_of_entry(e, path);
        if (S_ISDIR(mode))
            each_device(path, depth + 1, fn, arg);
        else if (is_device(mode))
            fn(arg, path, mode);
    }
    if (d)
        closedir(d);
}

static void keep_allowed(void *arg, const char *path, mode_t mode)
{
    struct opened *o = arg;
    if (is_allowed(o, path, mode) && can_open(o->uid, path))
        keep(o, path, mode);
}

/* What init has found, and mounted where it could. */
static void keep_found(struct opened *o, const struct devices_list *found)
{
    const char *end = found->text + found->n;
    for (const char *at = found->text; at < end; at += strlen(at) + 1) {
        mode_t mode = *at == DEVICE_BLOCKS ? S_IFBLK : S_IFCHR;
        const char *path = at + 1;
        if (*at != DEVICE_MOUNTED) {
            keep_allowed(o, path, mode);
        } else if (o->n < OPENED && is_allowed(o, path, mode)) {
            o->trees[o->n] = -1;
            o->paths[o->n++] = path;
        }
    }
}

static int keep_all(struct opened *o, const struct plan *p, const struct devices_list *found)
{
    struct stat st;
    bool folders = p->device_scan;
    for (size_t i = 0; i < p->ndevices && !p->device_scan; i++) {
        if (is_left_out(p->devices[i]) || lstat(p->devices[i], &st) < 0)
            continue;
        if (is_device(st.st_mode) && (p->device_types[i] >> type_of(st.st_mode) & 1))
            keep(o, p->devices[i], st.st_mode);
        folders |= S_ISDIR(st.st_mode);
    }
    if (!folders)
        return 0;
    o->cache = graph_cache_new(o->graph);
    if (!o->cache)
        return -ENOMEM;
    if (p->device_scan && found && found->whole)
        keep_found(o, found);
    else if (p->device_scan)
        each_device("/dev", 0, keep_allowed, o);
    for (size_t i = 0; i < p->ndevices && !p->device_scan; i++)
        if (!is_left_out(p->devices[i]) && lstat(p->devices[i], &st) == 0 && S_ISDIR(st.st_mode))
            each_device(p->devices[i], 1, keep_allowed, o);
    return 0;
}

/* ---- the wall ---- */

static int attach(int tree, const char *path)
{
    int moved = (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, path,
                             0x04 /* the first is a file descriptor */);
    return moved == 0 || errno == ENOENT ? 0 : -errno;
}

/* What init has made a mount of. */
static int open_again(const char *path)
{
    int err = set_attributes(AT_FDCWD, path, 0, 0, KABI_MOUNT_NODEV);
    if (err != -EINVAL)
        return err == -ENOENT ? 0 : err;
    OWN(fd) int tree = clone_mount(path);
    err = tree < 0 ? 0 : devices_open_tree(tree);
    return tree < 0 || err < 0 ? err : attach(tree, path);
}

static int put_back(struct opened *o)
{
    int err = 0;
    for (size_t i = 0; i < o->n; i++) {
        OWN(fd) int tree = o->trees[i];
        if (err == 0)
            err = tree < 0 ? open_again(o->paths[i]) : attach(tree, o->paths[i]);
    }
    return err;
}

int devices_wall(const struct plan *p, const struct graph *g, const struct devices_list *found)
{
    if (!p->device_wall) {
        if (p->mount_ns)
            (void)set_attributes(AT_FDCWD, "/", KABI_AT_RECURSIVE, KABI_MOUNT_NOSUID, 0);
        return 0;
    }
    struct opened o = {.graph = g, .uid = geteuid(), .gid = getegid()};
    arena_init(&o.arena, 1 << 20);
    int err = keep_all(&o, p, found);
    if (err == 0)
        err = devices_close();
    int back = put_back(&o);
    if (err == 0)
        err = back;
    if (err == 0) /* without a devpts mount this is another program's, which stays closed */
        (void)set_attributes(AT_FDCWD, "/dev/pts", KABI_AT_RECURSIVE, 0, KABI_MOUNT_NODEV);
    graph_cache_free(o.cache);
    arena_free(&o.arena);
    return err;
}

/* ---- init's part ---- */

static bool mount_device(const char *path, mode_t mode)
{
    struct stat st;
    const char *from = strcmp(path, "/dev/ptmx") == 0 ? "/dev/pts/ptmx" : path;
    return mount(from, path, NULL, MS_BIND, NULL) == 0 && lstat(path, &st) == 0 &&
           (st.st_mode & S_IFMT) == (mode & S_IFMT);
}

static void list_device(void *arg, const char *path, mode_t mode)
{
    struct devices_list *found = arg;
    size_t n = strlen(path) + 1;
    if (!found->whole || !can_open(geteuid(), path))
        return;
    found->whole = n + 1 <= sizeof(found->text) - found->n;
    if (!found->whole)
        return;
    found->text[found->n] = S_ISBLK(mode)              ? DEVICE_BLOCKS
                            : mount_device(path, mode) ? DEVICE_MOUNTED
                                                       : DEVICE_CHARACTERS;
    memcpy(found->text + found->n + 1, path, n);
    found->n += (uint16_t)(n + 1);
}

void devices_prepare(struct devices_list *found)
{
    if (found) {
        found->whole = true;
        each_device("/dev", 0, list_device, found);
        return;
    }
    for (size_t i = 0; i < USUAL; i++)
        (void)mount(usual[i], usual[i], NULL, MS_BIND, NULL);
}
