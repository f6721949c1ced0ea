/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From a path that the target gave to a pinned object. The walk starts where the target's would
 * (its working directory, a descriptor, the root). The kernel does it in one openat2() with O_PATH;
 * after that, nothing the target does can change the object. The canonical path is then read back
 * from the pin.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/caller-path.h"
#include "kernel/judge/handle-userns.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/procfs.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"

void pinned_close(struct pinned *p)
{
    if (p->fd >= 0)
        close(p->fd);
    if (p->parent >= 0 && !p->lent)
        close(p->parent);
    p->fd = p->parent = -1;
    p->lent = false;
}

int pinned_take_parent(struct pinned *p)
{
    int fd = p->lent ? fcntl(p->parent, F_DUPFD_CLOEXEC, 3) : p->parent;
    p->parent = -1;
    p->lent = false;
    return fd;
}

/* Magic links of procfs lead to objects instead of paths, some to the judge's own. So the walk
 * never follows them, and returns ELOOP. */
static bool
    beneath; /* the target has another root, so this request's path must stay beneath its start */

static int walk(int base, const char *path, uint64_t flags)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
                           .resolve = RESOLVE_NO_MAGICLINKS | (beneath ? RESOLVE_BENEATH : 0)};
    int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
    if (fd < 0)
        return beneath && errno == EXDEV ? -EPERM : -errno;
    return fd;
}

/* ---- canonical paths ---- */

/* The path of a pinned object, from the kernel. */
static int path_of_fd(int fd, char *out, size_t cap)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", fd);
    ssize_t n = readlink(name, out, cap - 1);
    if (n < 0 || (size_t)n >= cap - 1)
        return -ENAMETOOLONG;
    out[n] = '\0';
    return (int)n;
}

/* The path of a pinned folder. getcwd() takes a third of the time of reading a procfs link, which
 * is left for folders that cannot be entered, were removed, or are unreachable from the root.
 * Nothing else may be looked up while the working directory is changed. */
static int folder_path(const struct judge *j, int fd, char *out, size_t cap)
{
    long n = -1;
    if (fchdir(fd) == 0) {
        n = syscall(SYS_getcwd, out, cap - 1);
        if (fchdir(j->proc) < 0)
            abort(); /* paths of pins would be looked up in a folder of the target */
    }
    return n > 1 && out[0] == '/' ? (int)n - 1 : path_of_fd(fd, out, cap);
}

/* If fd is a sentry's view, replaces it by the real object before anything is asked about it. *at
 * describes the result. */
static int swap_sentry_view(const struct judge *j, int *fd, struct statx *at)
{
    char path[PATH_BYTES];
    int err = guarded_paths_glance(*fd, at);
    if (err < 0 || !guarded_paths_shows(j->guarded, at))
        return err;
    int n = path_of_fd(*fd, path, sizeof(path));
    bool planned = n >= 0 && guarded_paths_covers(j->guarded, path, (size_t)n);
    err = n < 0 ? n : guarded_paths_swap(j->guarded, path, (size_t)n, fd);
    /* the real one of a name that was searched for is on a mount that only the judge has: the view
     * says where it was found */
    return err < 0 || !planned ? err : guarded_paths_glance(*fd, at);
}

/* The path of an unlinked open file ends in " (deleted)": judge it by its last path. */
static size_t drop_deleted(char *path, size_t n, const struct stat *st)
{
    static const char mark[] = " (deleted)";
    size_t m = sizeof(mark) - 1;
    /* a file in memory never had a path: without the slash, it counts as the target's own */
    if (st->st_nlink == 0 && strncmp(path, "/memfd:", 7) == 0) {
        memmove(path, path + 1, n--);
        return n;
    }
    if (st->st_nlink == 0 && n > m && memcmp(path + n - m, mark, m) == 0) {
        n -= m;
        path[n] = '\0';
    }
    return n;
}

/* ---- walking by hand ---- */

enum { PROC_ROOT = 1 /* inode */, LINKS_FOLLOWED = 40 };

static bool is_proc_root(const struct judge *j, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_ino == PROC_ROOT && procfs_is(j, fd, &st);
}

/* The target's own entry in a procfs: what "self" and "thread-self" mean. */
static int step_to_self(struct judge *j, const struct request *r, int from, bool thread)
{
    char own[32];
    pid_t pid = target_inner_process(j, r), tid = target_inner_thread(j, r);
    if (pid < 0 || tid < 0)
        return -EPERM;
    snprintf(own, sizeof(own), thread ? "%d/task/%d" : "%d", pid, tid);
    return walk(from, own, 0);
}

/* Follows a magic link of procfs, if its folder may be used at all. */
static int step_by_magic(struct judge *j, const struct request *r, int from, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;
    int n = path_of_fd(from, path, sizeof(path));
    if (n < 0 || fstat(from, &st) < 0)
        return n < 0 ? n : -errno;
    /* check the link's path: a rule for the folder's links applies to it */
    if ((size_t)n + 1 + strlen(name) < sizeof(path)) {
        path[n++] = '/';
        memcpy(path + n, name, strlen(name) + 1);
    }
    int err = procfs_check(j, r, from, &st, path);
    if (err < 0)
        return err;
    int fd = openat(from, name, O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Walks one component from a pinned folder. */
static int walk_step(struct judge *j, const struct request *r, int from, const char *name,
                     bool follow)
{
    struct stat st;
    struct statx at;
    bool root = is_proc_root(j, from), thread = strcmp(name, "thread-self") == 0;
    if (root && (thread || strcmp(name, "self") == 0))
        return step_to_self(j, r, from, thread);
    int fd = walk(from, name, O_NOFOLLOW), err = fd < 0 ? fd : swap_sentry_view(j, &fd, &at);
    if (err < 0 && fd >= 0)
        close(fd);
    /* symlinks in the root of a procfs are ordinary: they continue with their text */
    if (err < 0)
        return err;
    if (fd < 0 || !follow || root || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode) ||
        !procfs_is(j, fd, &st))
        return fd;
    close(fd);
    return step_by_magic(j, r, from, name);
}

/* If fd is a symlink, inserts its text at the start of rest. Returns 1 if so, 0 if it is none, or a
 * negative errno. */
static int splice_link(int fd, char *rest)
{
    char text[PATH_BYTES];
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return 0;
    ssize_t n = readlinkat(fd, "", text, sizeof(text));
    size_t len = strlen(rest);
    if (n <= 0)
        return -ENOENT;
    if ((size_t)n + 1 + len >= PATH_BYTES)
        return -ENAMETOOLONG;
    memmove(rest + n + 1, rest, len + 1);
    memcpy(rest, text, (size_t)n);
    rest[n] = '/';
    return 1;
}

/* For paths through procfs: "self" there must not be the judge, and its magic links must lead to
 * the target's objects. Walks component by component, always from a pin. */
static int walk_by_hand(struct judge *j, const struct request *r, int base, const char *path,
                        bool follow_last)
{
    char rest[PATH_BYTES * 2], name[256];
    snprintf(rest, sizeof(rest), "%.*s", PATH_BYTES - 1, path);
    OWN(fd) int at = walk(base, path[0] == '/' ? "/" : ".", O_DIRECTORY);
    for (int links = 0; at >= 0 && links <= LINKS_FOLLOWED;) {
        char *from = rest + strspn(rest, "/");
        size_t n = strcspn(from, "/");
        if (n == 0)
            return steal_fd(&at);
        if (n >= sizeof(name))
            return -ENAMETOOLONG;
        memcpy(name, from, n);
        name[n] = '\0';
        memmove(rest, from + n, strlen(from + n) + 1);
        bool follow = follow_last || rest[0];
        OWN(fd) int next = walk_step(j, r, at, name, follow);
        if (next < 0)
            return next;
        int linked = follow ? splice_link(next, rest) : 0;
        if (linked < 0)
            return linked;
        links += linked;
        if (linked && rest[0] != '/')
            continue;
        close(at);
        at = linked ? walk(AT_FDCWD, "/", O_DIRECTORY) : steal_fd(&next);
    }
    return at < 0 ? at : -ELOOP;
}

/* ---- describing ---- */

/* An object on an unmounted file system shows a path that starts at that mount's root, so it seems
 * to be another file. That is possible only if mounts have changed. */
static int check_mount(const struct judge *j, const struct statx *at)
{
    if (!j->mounts_changed || !j->names || !(at->stx_mask & KABI_STATX_MNT_ID))
        return 0;
    if (j->mounts && mounts_reach(j->mounts, kabi_statx_mnt_id(at)))
        return 0;
    /* inherited descriptors are on mounts of the outside */
    return mounts_reach(&j->names->mounts, kabi_statx_mnt_id(at)) ? 0 : -UNMOUNTED;
}

/* Pipes and files in memory have no path at all; a removed file's path no longer matters. */
static int check_object(const struct judge *j, int fd, const char *path, const struct stat *st)
{
    struct statx at;
    if (!j->mounts_changed || path[0] != '/' || st->st_nlink == 0)
        return 0;
    int err = guarded_paths_glance(fd, &at);
    return err < 0 ? err : check_mount(j, &at);
}

int pin_describe(struct judge *j, const struct request *r, int slot, struct pinned *out)
{
    char *path = j->canonical[slot];
    int n = path_of_fd(out->fd, path, PATH_BYTES);
    if (n < 0)
        return n;
    int view = out->fd;
    int err = guarded_paths_swap(j->guarded, path, (size_t)n, &out->fd);
    if (err < 0)
        return err;
    if (fstat(out->fd, &out->st) < 0)
        return -errno;
    out->guarded = out->fd != view && !guarded_paths_covers(j->guarded, path, (size_t)n);
    err = out->guarded ? 0 : check_object(j, out->fd, path, &out->st);
    if (err == 0)
        err = procfs_check(j, r, out->fd, &out->st, path);
    if (err < 0)
        return err;
    out->found = true;
    out->procfs = err > 0;
    out->path = path;
    out->path_len = drop_deleted(path, (size_t)n, &out->st);
    return 0;
}

/* A cheap check suffices for a folder outside procfs. */
static int check_folder(struct judge *j, const struct request *r, int fd, const struct statx *at,
                        const char *path)
{
    struct stat st;
    if (!procfs_may_be(j, at->stx_dev_major, at->stx_blksize))
        return 0;
    return fstat(fd, &st) < 0 ? -errno : procfs_check(j, r, fd, &st, path);
}

/* parent's path + "/" + the name without trailing slashes. at: NULL if the parent was checked
 * before. */
static int describe_name(struct judge *j, const struct request *r, int slot, const struct statx *at,
                         struct pinned *out)
{
    char *path = j->canonical[slot];
    int n = folder_path(j, out->parent, path, PATH_BYTES);
    size_t len = strlen(out->name);
    int err = n < 0 ? n : at ? check_mount(j, at) : 0;
    if (err == 0 && at)
        err = check_folder(j, r, out->parent, at, path);
    if (err < 0)
        return err;
    out->procfs = err > 0;
    while (len > 1 && out->name[len - 1] == '/')
        len--;
    if (n != 1)
        path[n++] = '/';
    if (len > 255)
        return -ENAMETOOLONG;
    memcpy(path + n, out->name, len);
    out->path = path;
    out->path_len = (size_t)n + len;
    path[out->path_len] = '\0';
    return 0;
}

/* ---- walking ---- */

/* Returns where the walk starts: a descriptor to close, AT_FDCWD for an absolute path, or a
 * negative errno. */
static int start_of(struct judge *j, const struct request *r, int dirfd, const char *path)
{
    char name[16] = "cwd";
    if (path[0] == '/')
        return AT_FDCWD;
    if (dirfd != AT_FDCWD)
        snprintf(name, sizeof(name), "fd/%d", dirfd);
    int fd = thread_cache_open(j, r, name, O_PATH);
    if (fd < 0 && dirfd != AT_FDCWD) /* it has more ways, and the right errno */
        return target_pin_fd(j, r, dirfd);
    return fd < 0 ? -EPERM : fd;
}

struct start {
    int base; /* a descriptor of ours, or AT_FDCWD for an absolute path */
    char *path;
    bool lent; /* base is kept for other calls */
};

static void start_close(struct start *s)
{
    if (s->base >= 0 && !s->lent)
        close(s->base);
    s->base = -1;
}
#define OWN_start start_close

/* Finds the start of the walk for the path in the judge's buffer. */
static int find_start(struct judge *j, const struct request *r, int dirfd, unsigned flags, int slot,
                      struct start *s)
{
    s->path = j->path[slot];
    beneath = j->makes_user_ns && userns_other_root(j, r);
    int err = beneath && s->path[0] == '/' ? userns_refuse_path(j, r) : 0;
    if (err == 0)
        err = caller_path_rewrite(j, r, s->path, flags);
    if (err < 0)
        return err;
    bool cwd = dirfd == AT_FDCWD && s->path[0] != '/';
    s->base = cwd ? caller_folder(j, r) : -1;
    s->lent = s->base >= 0;
    if (!s->lent)
        s->base = start_of(j, r, dirfd, s->path);
    if (s->base < 0 && s->base != AT_FDCWD)
        return s->base;
    if (!request_is_valid(j, r))
        return -EPERM;
    thread_cache_confirm(j, r);
    if (cwd && !s->lent)
        caller_folder_keep(j, r, s->base);
    return 0;
}

static int read_start(struct judge *j, const struct request *r, int dirfd, uint64_t addr,
                      unsigned flags, int slot, struct start *s)
{
    int n = target_string(r, addr, j->path[slot]);
    if (n < 0)
        return n;
    if (n == 0 && !(flags & PIN_EMPTY))
        return -ENOENT;
    int err = find_start(j, r, dirfd, flags, slot, s);
    return err < 0 ? err : n;
}

static int pin_from(struct judge *j, const struct request *r, const struct start *s, unsigned flags,
                    int slot, struct pinned *out)
{
    bool empty = s->path[0] == '\0';
    if (empty && !(flags & PIN_EMPTY))
        return -ENOENT;
    int fd = empty ? fcntl(s->base, F_DUPFD_CLOEXEC, 3)
                   : walk(s->base, s->path, flags & PIN_NOFOLLOW ? O_NOFOLLOW : 0);
    bool by_hand = fd == -ELOOP || (fd == -ENOENT && !(flags & PIN_QUICK));
    if (by_hand)
        fd = walk_by_hand(j, r, s->base, s->path, !(flags & PIN_NOFOLLOW));
    if (fd < 0)
        return empty ? -EBADF : fd;
    out->fd = fd;
    int err = pin_describe(j, r, slot, out);
    if (err < 0)
        pinned_close(out);
    if (err != -EACCES || empty || by_hand)
        return err;
    /* the kernel may have found the judge's own entry instead of the target's */
    if ((fd = walk_by_hand(j, r, s->base, s->path, !(flags & PIN_NOFOLLOW))) < 0)
        return fd;
    out->fd = fd;
    if ((err = pin_describe(j, r, slot, out)) < 0)
        pinned_close(out);
    return err;
}

int pin_object(struct judge *j, const struct request *r, int dirfd, uint64_t path, unsigned flags,
               int slot, struct pinned *out)
{
    OWN(start) struct start s = {.base = -1};
    *out = (struct pinned){.fd = -1, .parent = -1};
    int n = read_start(j, r, dirfd, path, flags, slot, &s);
    if (n < 0)
        return n;
    return pin_from(j, r, &s, flags, slot, out);
}

/* Copies a path into the first buffer. */
static int copy_path(struct judge *j, const char *path, size_t n)
{
    if (n >= PATH_BYTES)
        return -ENAMETOOLONG;
    memcpy(j->path[0], path, n);
    j->path[0][n] = '\0';
    return 0;
}

int pin_object_copied(struct judge *j, const struct request *r, const char *path, size_t n,
                      struct pinned *out)
{
    OWN(start) struct start s = {.base = -1};
    *out = (struct pinned){.fd = -1, .parent = -1};
    int err = copy_path(j, path, n);
    if (err == 0)
        err = find_start(j, r, AT_FDCWD, 0, 0, &s);
    if (err < 0)
        return err;
    return pin_from(j, r, &s, 0, 0, out);
}

/* Splits "a/b/c//" into folder "a/b" and name "c//". */
static const char *split_path(char *path, const char **folder)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n == 0) {
        *folder = ".";
        return path;
    }
    /* move the name by one byte, to end the folder with NUL */
    memmove(path + n + 1, path + n, strlen(path + n) + 1);
    path[n] = '\0';
    *folder = path;
    return path + n + 1;
}

/* Makes sure that the folder is the real one. Returns 1 if there is nothing more to check: a kept
 * folder was checked when it was opened, and only mounts change. */
static int look_at_folder(const struct judge *j, struct pinned *out, struct statx *at)
{
    if (!out->lent)
        return swap_sentry_view(j, &out->parent, at);
    return j->mounts_changed ? guarded_paths_glance(out->parent, at) : 1;
}

/* Takes over *base, unless it is lent. */
static int pin_folder_at(struct judge *j, const struct request *r, int *base, bool lent, int slot,
                         struct pinned *out)
{
    const char *folder;
    struct statx at;
    *out = (struct pinned){.fd = -1, .parent = -1};
    out->name = split_path(j->path[slot], &folder);
    /* a bare name is in the folder that is already pinned */
    bool here = *base >= 0 && strcmp(folder, ".") == 0;
    int fd = here ? steal_fd(base) : walk(*base, folder, O_DIRECTORY);
    if (fd == -ENOENT || fd == -ELOOP)
        fd = walk_by_hand(j, r, *base, folder, true);
    if (fd < 0)
        return fd;
    out->parent = fd;
    out->lent = here && lent;
    int err = look_at_folder(j, out, &at);
    if (err >= 0)
        err = describe_name(j, r, slot, err > 0 ? NULL : &at, out);
    if (err < 0)
        pinned_close(out);
    return err;
}

static int pin_parent_from(struct judge *j, const struct request *r, int *base, bool lent, int slot,
                           struct pinned *out)
{
    int err = pin_folder_at(j, r, base, lent, slot, out);
    if (err == 0)
        err = pin_stat(j, out);
    if (err < 0)
        pinned_close(out);
    return err;
}

int pin_parent_at(struct judge *j, const struct request *r, int *base, int slot, struct pinned *out)
{
    return pin_parent_from(j, r, base, false, slot, out);
}

int pin_found(struct judge *j, const struct request *r, int slot, struct pinned *p)
{
    int fd = walk(p->parent, p->name, O_NOFOLLOW);
    if (fd < 0)
        return fd;
    p->fd = fd;
    return pin_describe(j, r, slot, p);
}

int pin_folder(struct judge *j, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out)
{
    OWN(start) struct start s = {.base = -1};
    *out = (struct pinned){.fd = -1, .parent = -1};
    int n = read_start(j, r, dirfd, path, 0, slot, &s);
    return n < 0 ? n : pin_folder_at(j, r, &s.base, s.lent, slot, out);
}

int pin_parent(struct judge *j, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out)
{
    OWN(start) struct start s = {.base = -1};
    *out = (struct pinned){.fd = -1, .parent = -1};
    int n = read_start(j, r, dirfd, path, 0, slot, &s);
    return n < 0 ? n : pin_parent_from(j, r, &s.base, s.lent, slot, out);
}

int pin_parent_copied(struct judge *j, const struct request *r, const char *path, size_t n,
                      struct pinned *out)
{
    OWN(start) struct start s = {.base = -1};
    *out = (struct pinned){.fd = -1, .parent = -1};
    int err = n ? copy_path(j, path, n) : -ENOENT;
    if (err == 0)
        err = find_start(j, r, AT_FDCWD, 0, 0, &s);
    if (err < 0)
        return err;
    return pin_parent_from(j, r, &s.base, s.lent, 0, out);
}

int pin_descriptor(struct judge *j, const struct request *r, int fd, int slot, struct pinned *out)
{
    *out = (struct pinned){.fd = -1, .parent = -1};
    int pin = target_pin_fd(j, r, fd);
    if (pin < 0)
        return pin;
    out->fd = pin;
    int err = request_is_valid(j, r) ? pin_describe(j, r, slot, out) : -EPERM;
    if (err < 0)
        pinned_close(out);
    return err;
}
