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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"

enum { OPENED = 512, DEPTH = 3 };

/* Mounts that are made before everything is closed, and attached afterwards. */
struct opened {
    int trees[OPENED];
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
    bool maker = strcmp(path, "/dev/ptmx") == 0;
    char *name = o->n < OPENED ? arena_strndup(&o->arena, path, strlen(path)) : NULL;
    int tree = name && maker ? clone_mount("/dev/pts/ptmx") : -1;
    if (name && tree < 0)
        tree = clone_mount(path);
    if (tree < 0)
        return;
    if (fstat(tree, &st) < 0 || (st.st_mode & S_IFMT) != (mode & S_IFMT)) {
        close(tree);
        return;
    }
    o->trees[o->n] = tree;
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
static bool can_open(const struct opened *o, const char *path)
{
    return o->uid == 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
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

static void keep_beneath(struct opened *o, const char *folder, int depth)
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
            keep_beneath(o, path, depth + 1);
        else if (is_device(mode) && is_allowed(o, path, mode) && can_open(o, path))
            keep(o, path, mode);
    }
    if (d)
        closedir(d);
}

static int keep_all(struct opened *o, const struct plan *p)
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
    if (p->device_scan)
        keep_beneath(o, "/dev", 0);
    for (size_t i = 0; i < p->ndevices && !p->device_scan; i++)
        if (!is_left_out(p->devices[i]) && lstat(p->devices[i], &st) == 0 && S_ISDIR(st.st_mode))
            keep_beneath(o, p->devices[i], 1);
    return 0;
}

/* ---- the wall ---- */

static int put_back(struct opened *o)
{
    int err = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (err == 0 && syscall(SYS_move_mount, o->trees[i], "", AT_FDCWD, o->paths[i],
                                0x04 /* the first is a file descriptor */) < 0)
            err = errno == ENOENT ? 0 : -errno;
        close(o->trees[i]);
    }
    return err;
}

int devices_wall(const struct plan *p, const struct graph *g)
{
    if (!p->device_wall) {
        if (p->mount_ns)
            (void)set_attributes(AT_FDCWD, "/", KABI_AT_RECURSIVE, KABI_MOUNT_NOSUID, 0);
        return 0;
    }
    struct opened o = {.graph = g, .uid = geteuid(), .gid = getegid()};
    arena_init(&o.arena, 1 << 20);
    int err = keep_all(&o, p);
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
