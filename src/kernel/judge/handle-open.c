/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Opening. The judge pins an existing file, judges its canonical path and opens it again through
 * the pin. It creates a new file in its pinned folder with O_NOFOLLOW; if the name is a dangling
 * symlink, it judges the path that the link names as well.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/handle-userns.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/new-names.h"
#include "kernel/judge/procfs.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/launch/layers.h"

struct opening {
    int dirfd;
    uint64_t path;
    int flags;
    mode_t mode;
};

static struct opening opening_of(const struct request *r)
{
    const uint64_t *a = r->args;
#ifdef SYS_open
    if (r->nr == SYS_open)
        return (struct opening){AT_FDCWD, a[0], (int)a[1], (mode_t)a[2]};
    if (r->nr == SYS_creat)
        return (struct opening){AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, (mode_t)a[1]};
#endif
    return (struct opening){(int)a[0], a[1], (int)a[2], (mode_t)a[3]};
}

static bool wants_write(int flags)
{
    int mode = flags & O_ACCMODE;
    return mode == O_WRONLY || mode == O_RDWR || mode == O_ACCMODE || (flags & O_TRUNC);
}

static bool wants_read(int flags)
{
    int mode = flags & O_ACCMODE;
    return mode == O_RDONLY || mode == O_RDWR || mode == O_ACCMODE;
}

static int ask_open(struct judge *j, const struct request *r, int flags, const struct pinned *p)
{
    bool writes = wants_write(flags), reads = wants_read(flags);
    int err = writes ? ask_path(j, r, OP_FILE_WRITE_DATA, p) : 0;
    if (err == 0 && reads)
        err = ask_path(j, r, OP_FILE_READ_DATA, p);
    if (err == 0 && writes)
        err = procfs_ask(j, r, p, PROCFS_CHANGE);
    if (err == 0 && reads)
        err = procfs_ask(j, r, p, PROCFS_READ);
    if (err == 0 && S_ISCHR(p->st.st_mode) && p->st.st_rdev == makedev(5, 2) /* ptmx */)
        err = ask_about(j, r, OP_PSEUDO_TTY, NULL, 0, p->path);
    return err;
}

/* Our own wall bounds writing but not truncating (plan.c). So a file that is opened for reading and
 * truncated must first be opened for writing. */
static bool truncates_unwalled(int pin, int flags)
{
    struct stat st;
    return (flags & (O_TRUNC | O_ACCMODE)) == (O_TRUNC | O_RDONLY) && fstat(pin, &st) == 0 &&
           S_ISREG(st.st_mode);
}

static int truncate_by_path(const char *name)
{
    OWN(fd) int fd = open(name, O_WRONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

/* Opens a pinned object again with the flags that the target gave. */
static int reopen(int pin, int flags)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", pin);
    int err = truncates_unwalled(pin, flags) ? truncate_by_path(name) : 0;
    if (err < 0)
        return err;
    int fd = open(name, (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

/* Opens a folder that has sentries the way the command sees it, so that its entries stay guarded.
 * Uses exactly the path that was judged. */
static int reopen_view(const char *path, int flags)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (flags & O_NONBLOCK),
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

static struct answer send_fd(struct judge *j, const struct request *r, int fd, int flags)
{
    if (fd < 0)
        return answer_value(fd);
    judge_send_fd(j->listener, r->id, fd, flags & O_CLOEXEC);
    return (struct answer){.sent = true};
}

/* ---- descriptors by name ---- */

static bool may_open(struct judge *j, int flags, const struct pinned *p)
{
    return (!wants_write(flags) ||
            would_allow(j, OP_FILE_WRITE_DATA, p->path, p->path_len, &p->st)) &&
           (!wants_read(flags) || would_allow(j, OP_FILE_READ_DATA, p->path, p->path_len, &p->st));
}

/* /dev/fd/N and the like name a descriptor that the target already holds. If it is open for the
 * wanted access, opening it again grants nothing new. So if the policy would not allow to open the
 * file, returns a copy, as other systems always do for these paths. Files that the policy allows
 * are opened: they get their own offset, and only the wanted access, which Chromium relies on.
 * Returns -1 if the path names no such descriptor. */
static int copy_own_fd(struct judge *j, const struct request *r, const struct opening *o,
                       const struct pinned *p)
{
    int pid, fd, end = 0;
    struct stat st;
    const char *path = j->path[0];
    bool named = sscanf(path, "/proc/%d/fd/%d%n", &pid, &fd, &end) == 2 ||
                 sscanf(path, "/proc/%d/task/%*d/fd/%d%n", &pid, &fd, &end) == 2;
    /* opening a copy cannot truncate it */
    if (!named || path[end] || (o->flags & O_TRUNC) || pid != target_inner_process(j, r) ||
        (S_ISREG(p->st.st_mode) && may_open(j, o->flags, p)))
        return -1;
    OWN(fd) int copy = target_take_fd(j, r, fd);
    int mode = copy < 0 ? -1 : fcntl(copy, F_GETFL) & O_ACCMODE;
    if (mode < 0 || (mode != O_RDWR && mode != (o->flags & O_ACCMODE)) || fstat(copy, &st) < 0)
        return -1;
    bool same = st.st_ino == p->st.st_ino && st.st_dev == p->st.st_dev;
    return same && request_is_valid(j, r) ? steal_fd(&copy) : -1;
}

/* ---- existing files ---- */

/* Whether reading is checked by sentries: opening for reading is not judged then. */
static bool reads_meet_sentries(const struct judge *j)
{
    return j->guarded->plan && j->guarded->plan->ops[OP_FILE_READ_DATA].tier != TIER_JUDGED;
}

/* A sentry is on the file's name. Through its descriptor in /proc, what is opened for writing can
 * be opened again for reading, and no sentry is there. So a file whose contents are denied must be
 * empty, or the command's own. */
static int ask_written(struct judge *j, const struct request *r, int flags, const struct pinned *p)
{
    if (!reads_meet_sentries(j) || !wants_write(flags) || (flags & O_TRUNC) ||
        !S_ISREG(p->st.st_mode) || p->st.st_size == 0 ||
        would_allow(j, OP_FILE_READ_DATA, p->path, p->path_len, &p->st) ||
        own_file_is(&j->own_files, p->fd))
        return 0;
    return ask_path(j, r, OP_FILE_READ_DATA, p);
}

/* Remembers a file that has just been created or emptied, if its contents are denied. */
static void remember_own(struct judge *j, const struct pinned *p, int fd)
{
    const struct stat st = {.st_mode = S_IFREG};
    if (fd >= 0 && reads_meet_sentries(j) &&
        !would_allow(j, OP_FILE_READ_DATA, p->path, p->path_len, &st))
        own_file_add(&j->own_files, fd);
}

static int reopen_written(struct judge *j, struct pinned *p, int flags)
{
    if (wants_write(flags))
        link_set_copy(j, p, false);
    int fd = reopen(p->fd, flags);
    if ((flags & O_TRUNC) && S_ISREG(p->st.st_mode))
        remember_own(j, p, fd);
    return fd;
}

static struct answer open_existing(struct judge *j, const struct request *r,
                                   const struct opening *o, struct pinned *p)
{
    if ((o->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return answer_errno(EEXIST);
    if (S_ISLNK(p->st.st_mode))
        return answer_errno(ELOOP);
    if ((o->flags & O_CREAT) && S_ISDIR(p->st.st_mode))
        return answer_errno(EISDIR);
    int err = ask_open(j, r, o->flags, p);
    if (err == 0)
        err = ask_written(j, r, o->flags, p);
    if (err < 0)
        return answer_value(err);
    /* the judge's terminal is the target's only in the same session */
    if (S_ISCHR(p->st.st_mode) && strcmp(p->path, "/dev/tty") == 0 && getsid(r->tid) != getsid(0))
        return answer_errno(ENXIO);
    if (S_ISFIFO(p->st.st_mode) && (o->flags & O_ACCMODE) < O_RDWR && !(o->flags & O_NONBLOCK))
        return wait_fifo(j, r, p, o->flags);
    if (S_ISDIR(p->st.st_mode) &&
        (j->guarded->bare > 0 || guarded_paths_covers(j->guarded, p->path, p->path_len)))
        return send_fd(j, r, reopen_view(p->path, o->flags), o->flags);
    int fd = userns_open(j, r, p, o->flags);
    return send_fd(j, r, fd == -ENOTSUP ? reopen_written(j, p, o->flags) : fd, o->flags);
}

/* A nameless file in the folder that the path names. */
static struct answer open_unnamed(struct judge *j, const struct request *r, const struct opening *o,
                                  struct pinned *p)
{
    char *path = j->canonical[0];
    size_t n = p->path_len;
    if (n + 10 > sizeof(j->canonical[0]))
        return answer_errno(ENAMETOOLONG);
    memcpy(path + n, "/#unnamed", 10);
    int err = ask_name(j, r, OP_FILE_WRITE_CREATE, path, n + 9, NULL);
    if (err == 0)
        err = ask_setugid(j, r, path, n + 9, S_IFREG | o->mode);
    if (err == 0)
        err = judge_take_umask(j, r);
    if (err < 0)
        return answer_value(err);
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", p->fd);
    int fd = open(name, o->flags | O_CLOEXEC, o->mode);
    return send_fd(j, r, fd < 0 ? -errno : fd, o->flags);
}

/* ---- new files ---- */

enum { LINK_MAX_FOLLOWED = 40 };

/* p names a dangling symlink: p becomes the place that it names. */
static int follow_link(struct judge *j, const struct request *r, struct pinned *p)
{
    char *path = j->path[0];
    char target[PATH_BYTES];
    ssize_t n = readlinkat(p->parent, p->name, target, sizeof(target) - 1);
    if (n <= 0)
        return n < 0 ? -errno : -ENOENT;
    target[n] = '\0';
    memcpy(path, target, (size_t)n + 1);
    OWN(fd) int parent = pinned_take_parent(p);
    return pin_parent_at(j, r, &parent, 0, p);
}

static struct answer create_file(struct judge *j, const struct request *r, const struct opening *o,
                                 const struct pinned *p)
{
    const struct stat st = {.st_mode = S_IFREG};
    struct new_names new = {0};
    if (j->git.wanted && git_holds(j, p, o->flags))
        return send_fd(j, r, git_hold(j, r, p, o->flags, o->mode), o->flags);
    int err = ask_create(j, r, p, S_IFREG);
    if (err == 0 && wants_write(o->flags))
        err = ask_name(j, r, OP_FILE_WRITE_DATA, p->path, p->path_len, &st);
    if (err == 0)
        err = ask_setugid(j, r, p->path, p->path_len, S_IFREG | o->mode);
    if (err == 0)
        err = git_before_name(j, r, p);
    if (err == 0)
        err = judge_take_umask(j, r);
    if (err == 0 && new_names_add(j, &new, p->path, p->path_len, S_IFREG))
        err = new_names_room(j, &new);
    if (err < 0)
        return answer_value(err);
    /* O_EXCL follows no symlink and leaves no trace; O_NOFOLLOW is for files created outside
     * meanwhile */
    int flags = o->flags | O_CLOEXEC | O_NOCTTY;
    int fd = openat(p->parent, p->name, flags | O_EXCL, o->mode);
    if (fd < 0 && errno == EEXIST && !(o->flags & O_EXCL))
        fd = openat(p->parent, p->name, flags | O_NOFOLLOW, o->mode);
    if (fd >= 0 && j->git.wanted && git_is_state_file(p->path, p->path_len))
        path_set_add(&j->git.created, p->path, p->path_len);
    int err_open = errno;
    remember_own(j, p, fd);
    if (fd >= 0)
        new_names_made(j, &new, p->path, p->path_len);
    return send_fd(j, r, fd < 0 ? -err_open : fd, o->flags);
}

/* A file with several names gets another inode number when a layer copies it to be written. */
static bool is_layers_copy(const struct judge *j, const struct pinned *p, const struct stat *st)
{
    return j->layers && p->st.st_nlink > 1 && S_ISREG(st->st_mode) &&
           st->st_size == p->st.st_size && layers_cover(j->layers, p->path, p->path_len, st);
}

/* Opens a regular file by its name in the pinned folder. Every call inside that could replace it is
 * judged, and so waits. A process outside can replace it, so compare it, and only then truncate. */
static struct answer open_plain(struct judge *j, const struct request *r, const struct opening *o,
                                struct pinned *p)
{
    struct stat st;
    /* O_NOFOLLOW would show in the descriptor's flags */
    struct open_how how = {.flags = (unsigned)(o->flags & ~(O_CREAT | O_EXCL | O_TRUNC)) |
                                    KABI_O_LARGEFILE | O_CLOEXEC | O_NOCTTY,
                           .resolve = RESOLVE_NO_SYMLINKS};
    if ((o->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return answer_errno(EEXIST);
    if (j->git.wanted && git_holds(j, p, o->flags))
        return send_fd(j, r, git_hold(j, r, p, o->flags, p->st.st_mode), o->flags);
    int err = ask_open(j, r, o->flags, p);
    if (err < 0)
        return answer_value(err);
    link_set_copy(j, p, false);
    OWN(fd) int fd = (int)syscall(SYS_openat2, p->parent, p->name, &how, sizeof(how));
    if (fd < 0 || fstat(fd, &st) < 0)
        return answer_errno(errno);
    if ((st.st_ino != p->st.st_ino || st.st_dev != p->st.st_dev) && !is_layers_copy(j, p, &st))
        return answer_errno(EPERM);
    if ((o->flags & O_TRUNC) && ftruncate(fd, 0) < 0)
        return answer_errno(errno);
    return send_fd(j, r, steal_fd(&fd), o->flags);
}

static bool is_plain(const char *name)
{
    return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

/* Whether the kernel's own check for existence suffices, since the caller wants a new file or none.
 * Not if creating it would be denied, because EEXIST takes precedence over a denial; nor if a
 * sentry may be on the path. */
static bool skips_stat(struct judge *j, const struct opening *o, const struct pinned *p)
{
    const struct stat st = {.st_mode = S_IFREG};
    return (o->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) &&
           !guarded_paths_covers(j->guarded, p->path, p->path_len) &&
           would_allow(j, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
}

/* The common case of a call that could write: a regular file, or one that does not exist yet.
 * Returns false if it needs the full check. */
static bool open_by_name(struct judge *j, const struct request *r, const struct opening *o,
                         struct answer *a)
{
    OWN(pinned) struct pinned p = {.fd = -1, .parent = -1};
    int mode = o->flags & O_ACCMODE;
    bool writes = mode == O_WRONLY || mode == O_RDWR;
    /* openat2() rejects unknown flags */
    writes &= !((unsigned)o->flags & ~(KABI_OPEN_KNOWN | KABI_O_LARGEFILE));
    if (!j->names_judged || (o->flags & O_TMPFILE) == O_TMPFILE ||
        !((o->flags & O_CREAT) || writes))
        return false;
    if (pin_folder(j, r, o->dirfd, o->path, 0, &p) < 0 || p.procfs || !is_plain(p.name))
        return false;
    if (!skips_stat(j, o, &p) && pin_stat(j, &p) < 0)
        return false;
    if (p.found && (p.guarded || guarded_paths_covers(j->guarded, p.path, p.path_len)))
        return false;
    if (!p.found && (o->flags & O_CREAT))
        *a = create_file(j, r, o, &p);
    else if (p.found && S_ISREG(p.st.st_mode) && writes)
        *a = open_plain(j, r, o, &p);
    else
        return false;
    return true;
}

static struct answer open_found(struct judge *j, const struct request *r, const struct opening *o,
                                struct pinned *p)
{
    int own = copy_own_fd(j, r, o, p);
    return own >= 0 ? send_fd(j, r, own, o->flags) : open_existing(j, r, o, p);
}

static struct answer open_new(struct judge *j, const struct request *r, const struct opening *o)
{
    OWN(pinned) struct pinned p;
    OWN(pinned) struct pinned there = {.fd = -1, .parent = -1};
    int err = pin_parent(j, r, o->dirfd, o->path, 0, &p);
    bool is_link = err == 0 && p.found && S_ISLNK(p.st.st_mode);
    /* a symlink that only seems to dangle, or a folder that only seems to be ours: through
     * /proc/self */
    if ((is_link || err == -EACCES) && !(o->flags & (O_EXCL | O_NOFOLLOW)) &&
        pin_object(j, r, o->dirfd, o->path, 0, 0, &there) == 0)
        return open_found(j, r, o, &there);
    for (int i = 0; err == 0 && p.found && S_ISLNK(p.st.st_mode); i++) {
        if ((o->flags & (O_EXCL | O_NOFOLLOW)) || i == LINK_MAX_FOLLOWED)
            return answer_errno(o->flags & O_EXCL ? EEXIST : ELOOP);
        err = follow_link(j, r, &p);
    }
    if (err < 0)
        return answer_value(err);
    if (!p.found)
        return create_file(j, r, o, &p);
    /* created meanwhile */
    if (o->flags & O_EXCL)
        return answer_errno(EEXIST);
    err = pin_found(j, r, 0, &p);
    return err < 0 ? answer_value(err) : open_existing(j, r, o, &p);
}

struct answer handle_open(struct judge *j, const struct request *r)
{
    struct opening o = opening_of(r);
    struct answer a;
    if (o.flags & O_PATH)
        return handle_open_name(j, r, o.dirfd, o.path, o.flags);
    int new = O_CREAT | O_EXCL;
    if (open_by_name(j, r, &o, &a))
        return a;
    if ((o.flags & (new | O_TMPFILE)) == new)
        return open_new(j, r, &o); /* it must not exist */
    OWN(pinned) struct pinned p;
    unsigned how = (o.flags & O_NOFOLLOW ? PIN_NOFOLLOW : 0) | (o.flags & O_CREAT ? PIN_QUICK : 0);
    int err = pin_object(j, r, o.dirfd, o.path, how, 0, &p);
    if (err == -ENOENT && (o.flags & O_CREAT) && (o.flags & O_TMPFILE) != O_TMPFILE)
        return open_new(j, r, &o);
    if (err < 0)
        return answer_value(err);
    if ((o.flags & O_TMPFILE) == O_TMPFILE)
        return open_unnamed(j, r, &o, &p);
    return open_found(j, r, &o, &p);
}
