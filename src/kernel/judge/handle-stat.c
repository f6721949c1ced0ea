/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Learning about a file without reading it: stat and the like, access, readlink, statfs, watching,
 * and opening it with O_PATH. The judge gets the answer from the pinned object and writes it into
 * the target's memory.
 *
 * Which operation it asks about:
 *   stat, statx, statfs, readlink, O_PATH      file-read-metadata
 *   access(..., F_OK)                          file-test-existence
 *   access(..., R_OK | W_OK | X_OK)            file-read-metadata, because it reveals the mode
 *   inotify_add_watch                          file-read-data: it reveals what is in a folder
 *   fstat and others without a path            none: it asked when the file was opened
 *   chdir, and that a path does not exist      none: any call reveals the latter
 *
 * The judge cannot install an O_PATH descriptor in the target, so the kernel performs that open
 * once it is judged, and the path may have changed by then. But the judge judges every use of such
 * a descriptor again: fstat() and readlinkat() ask about it, and so do all other calls that start
 * from one. So it only reveals that another path exists, which nothing hides.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/procfs.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/syscall-args.h"
#include "kernel/judge/target.h"

#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

static struct answer write_result(struct judge *j, const struct request *r, uint64_t addr,
                                  const void *from, size_t n, int64_t value)
{
    int err = target_write(j, r, addr, from, n);
    return answer_value(err < 0 ? err : value);
}

/* Replaces the pin by the file that the target has open, if it is open for more than its name.
 * Checking the number would not do: another thread can replace the descriptor. */
static bool take_open_file(struct judge *j, const struct request *r, struct named *n)
{
    OWN(fd) int copy = target_take_fd(j, r, n->held);
    int mode = copy < 0 ? -1 : fcntl(copy, F_GETFL);
    if (mode < 0 || (mode & O_PATH) || fstat(copy, &n->p.st) < 0 || !request_is_valid(j, r))
        return false;
    pinned_close(&n->p);
    n->p.fd = steal_fd(&copy);
    return true;
}

static bool is_allowed(struct judge *j, const struct pinned *p)
{
    return p->path[0] != '/' || would_allow(j, OP_FILE_READ_METADATA, p->path, p->path_len, &p->st);
}

static int pin_and_ask(struct judge *j, const struct request *r, struct named *n)
{
    int err = pin_named(j, r, n);
    bool other = err < 0 && err != -EBADF && err != -EINVAL;
    if (n->held >= 0 && (other || (err == 0 && !is_allowed(j, &n->p))) && take_open_file(j, r, n))
        return 0;
    if (err == 0)
        err = ask_path(j, r, OP_FILE_READ_METADATA, &n->p);
    return err == 0 ? procfs_ask(j, r, &n->p, PROCFS_LOOK) : err;
}

/* struct stat is the kernel's on both architectures. */
struct answer handle_stat(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_and_ask(j, r, &n);
    if (err < 0)
        return answer_value(err);
    return write_result(j, r, n.rest[0], &n.p.st, sizeof(n.p.st), 0);
}

struct answer handle_statx(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    struct statx found;
    unsigned sync = (unsigned)r->args[2] & 0x6000, mask = (unsigned)r->args[3];
    if (sync == 0x6000 || (mask & KABI_STATX_RESERVED))
        return answer_errno(EINVAL);
    int err = pin_and_ask(j, r, &n);
    if (err < 0)
        return answer_value(err);
    memset(&found, 0, sizeof(found));
    if (syscall(SYS_statx, n.p.fd, "", AT_EMPTY_PATH | sync, mask, &found) < 0)
        return answer_errno(errno);
    return write_result(j, r, r->args[4], &found, sizeof(found), 0);
}

struct answer handle_statfs(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    struct statfs found;
    int err = pin_and_ask(j, r, &n);
    if (err < 0)
        return answer_value(err);
    if (syscall(SYS_fstatfs, n.p.fd, &found) < 0)
        return answer_errno(errno);
    return write_result(j, r, n.rest[0], &found, sizeof(found), 0);
}

/* Checks with the real ids unless AT_EACCESS is set. The judge's real ids may differ from the
 * target's, so it switches its fsuid and fsgid to those. */
struct answer handle_access(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    int err = pin_named(j, r, &n), mode = n.rest ? (int)n.rest[0] : -1;
    enum vocab_op op = mode == F_OK ? OP_FILE_TEST_EXISTENCE : OP_FILE_READ_METADATA;
    if (mode & ~(R_OK | W_OK | X_OK))
        return answer_errno(EINVAL);
    if (err == 0)
        err = ask_path(j, r, op, &n.p);
    if (err < 0)
        return answer_value(err);
    if (!(n.flags & AT_EACCESS) && creds_take_real(j) < 0)
        return answer_errno(EPERM);
    unsigned flags = AT_EMPTY_PATH | (j->creds.vary ? AT_EACCESS : n.flags & AT_EACCESS);
    long got = syscall(SYS_faccessat2, n.p.fd, "", mode, flags);
    return answer_value(got < 0 ? -errno : 0);
}

/* ---- links ---- */

/* "self" and "thread-self" of a procfs depend on the reader. */
static int read_own_link(struct judge *j, const struct request *r, const struct pinned *p,
                         char *text, size_t cap)
{
    struct statfs fs;
    const char *name = strrchr(p->path, '/');
    bool thread = name && strcmp(name, "/thread-self") == 0;
    if (!name || (!thread && strcmp(name, "/self") != 0) || fstatfs(p->fd, &fs) < 0 ||
        fs.f_type != PROC_SUPER_MAGIC)
        return 0;
    pid_t pid = target_inner_process(j, r), tid = target_inner_thread(j, r);
    if (pid < 0 || tid < 0)
        return -EPERM;
    return snprintf(text, cap, thread ? "%d/task/%d" : "%d", pid, tid);
}

struct answer handle_readlink(struct judge *j, const struct request *r)
{
    OWN(named) struct named n;
    char *text = j->value;
    int err = pin_and_ask(j, r, &n), size = n.rest ? (int)n.rest[1] : 0;
    if (size <= 0)
        return answer_errno(EINVAL);
    if (err < 0)
        return answer_value(err);
    if (!S_ISLNK(n.p.st.st_mode))
        return answer_errno(j->path[0][0] == '\0' ? ENOENT : EINVAL);
    ssize_t got = read_own_link(j, r, &n.p, text, PATH_BYTES);
    if (got == 0 && (got = readlinkat(n.p.fd, "", text, PATH_BYTES)) < 0)
        got = -errno;
    if (got < 0)
        return answer_value(got);
    if (got > size)
        got = size;
    return write_result(j, r, n.rest[0], text, (size_t)got, got);
}

/* ---- watching ---- */

struct answer handle_watch(struct judge *j, const struct request *r)
{
    OWN(pinned) struct pinned p;
    uint32_t mask = (uint32_t)r->args[2];
    int err =
        pin_object(j, r, AT_FDCWD, r->args[1], mask & IN_DONT_FOLLOW ? PIN_NOFOLLOW : 0, 0, &p);
    if (err == 0)
        err = ask_path(j, r, OP_FILE_READ_DATA, &p);
    if (err < 0)
        return answer_value(err);
    OWN(fd) int queue = target_take_fd(j, r, (int)r->args[0]);
    if (queue < 0 || !request_is_valid(j, r))
        return answer_value(queue < 0 ? queue : -EPERM);
    char name[32];
    pin_name(&p, name);
    int watch = inotify_add_watch(queue, name, mask & ~(uint32_t)IN_DONT_FOLLOW);
    return answer_value(watch < 0 ? -errno : watch);
}

/* ---- opening by name only ---- */

struct answer handle_open_name(struct judge *j, const struct request *r, int dirfd, uint64_t path,
                               int flags)
{
    OWN(pinned) struct pinned p;
    int err = pin_object(j, r, dirfd, path, flags & O_NOFOLLOW ? PIN_NOFOLLOW : 0, 0, &p);
    if (err == 0)
        err = ask_path(j, r, OP_FILE_READ_METADATA, &p);
    return answer_verdict(err); /* although the path can change: see above */
}
