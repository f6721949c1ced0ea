/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What is behind the sentries. The judge resolves a path as the command sees it, so it may end at a
 * sentry, which is read-only. The judge then follows the same path from the real folder, which was
 * opened before the sentry was mounted over it. Both are in the sandbox's mount table, so files can
 * be moved between them.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/fd-pass.h"

/* ---- receiving ---- */

static void store_real(struct guarded_paths *b, const struct sentry_msg *m, int fd)
{
    bool known = m->index >= 0 && (size_t)m->index < b->plan->nsentries;
    if (!known || (m->kind != SENTRY_MSG_REAL && m->kind != SENTRY_MSG_GONE)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (b->real[m->index] >= 0)
        close(b->real[m->index]);
    b->real[m->index] = fd;
}

bool sentries_cover(const struct plan *p, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < p->nsentries; i++) {
        size_t m = p->sentries[i].len;
        if (n >= m && (n == m || path[m] == '/') && memcmp(path, p->sentries[i].path, m) == 0)
            return true;
    }
    return false;
}

int guarded_paths_wait(struct guarded_paths *b, const struct plan *plan, int from,
                       enum launch_step *step)
{
    struct sentry_msg m;
    ssize_t n;
    b->from = from;
    for (size_t i = 0; i < PLAN_SENTRIES; i++)
        b->real[i] = -1;
    for (size_t i = 0; i < plan->nsentries; i++)
        b->len[i] = plan->sentries[i].len;
    b->plan = plan;
    *step = STEP_SENTRY;
    /* if the sentry exits without reading all we sent, the first read reports ECONNRESET, and only
     * the next one returns its message */
    do
        n = read(from, &m, sizeof(m));
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n != sizeof(m))
        return n < 0 ? -errno : -ECHILD;
    if (m.kind != SENTRY_MSG_READY) {
        bool failed = m.kind == SENTRY_MSG_FAILED && m.err > 0;
        *step = failed ? (enum launch_step)m.step : STEP_SENTRY;
        return failed ? -m.err : -EPROTO;
    }
    b->dev = m.dev;
    b->coming = m.index;
    b->changed = m.step;
    return 0;
}

int guarded_paths_take(struct guarded_paths *b)
{
    struct sentry_msg m;
    int fd;
    for (; b->coming > 0; b->coming--) {
        ssize_t n = fd_pass_receive(b->from, &m, sizeof(m), &fd);
        if (n != sizeof(m) || m.kind != SENTRY_MSG_REAL || fd < 0)
            return n < 0 ? (int)n : -ECHILD;
        store_real(b, &m, fd);
    }
    return 0;
}

bool guarded_paths_receive(struct guarded_paths *b)
{
    struct sentry_msg m;
    int fd;
    ssize_t n = fd_pass_receive(b->from, &m, sizeof(m), &fd);
    if (n != sizeof(m))
        return n > 0;
    store_real(b, &m, fd);
    return true;
}

/* ---- finding ---- */

/* The innermost sentry that covers a path and has something behind it, or -1. Inner ones come later
 * in the plan. */
static int innermost_sentry(const struct guarded_paths *b, const char *path, size_t n, size_t *len)
{
    for (size_t i = b->plan->nsentries; i-- > 0;) {
        size_t m = b->len[i];
        if (b->real[i] >= 0 && n >= m && (n == m || path[m] == '/') &&
            memcmp(path, b->plan->sentries[i].path, m) == 0) {
            *len = m;
            return (int)i;
        }
    }
    return -1;
}

bool guarded_paths_covers(const struct guarded_paths *b, const char *path, size_t n)
{
    size_t len;
    return b->plan && innermost_sentry(b, path, n, &len) >= 0;
}

int guarded_paths_open(const struct guarded_paths *b, const char *path, size_t n)
{
    char rest[PLAN_SENTRY_PATH + 4096];
    size_t len;
    int i = b->plan ? innermost_sentry(b, path, n, &len) : -1, fd;
    if (i < 0)
        return -ENOENT;
    if (n == len) {
        fd = fcntl(b->real[i], F_DUPFD_CLOEXEC, 3);
        return fd < 0 ? -errno : fd;
    }
    if (n - len - 1 >= sizeof(rest))
        return -ENAMETOOLONG;
    memcpy(rest, path + len + 1, n - len - 1);
    rest[n - len - 1] = '\0';
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    fd = (int)syscall(SYS_openat2, b->real[i], rest, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

/* Asks only the kernel: any other question about the file would go to the sentry, which would judge
 * it. */
int guarded_paths_glance(int fd, struct statx *st)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, st) < 0 ? -errno : 0;
}

bool guarded_paths_shows(const struct guarded_paths *b, const struct statx *st)
{
    return b->plan && makedev(st->stx_dev_major, st->stx_dev_minor) == b->dev;
}

static bool is_sentry_view(const struct guarded_paths *b, int fd)
{
    struct statx st;
    return b->plan && guarded_paths_glance(fd, &st) == 0 && guarded_paths_shows(b, &st);
}

/* The file of a sentry on a single name. It must be the one whose view was found: a process outside
 * may have replaced it, and a view that was detached has no path. */
static int open_viewed(const struct guarded_paths *b, const char *path, size_t n, int view)
{
    struct statx seen;
    struct stat st;
    OWN(fd) int real = guarded_paths_open_bare(b, path, n);
    if (real < 0 || guarded_paths_glance(view, &seen) < 0 || fstat(real, &st) < 0)
        return real < 0 ? real : -errno;
    return st.st_ino == seen.stx_ino ? steal_fd(&real) : -EPERM;
}

int guarded_paths_swap(const struct guarded_paths *b, const char *path, size_t n, int *fd)
{
    bool planned = guarded_paths_covers(b, path, n);
    if ((!planned && b->bare <= 0) || !is_sentry_view(b, *fd))
        return 0;
    int real = planned ? guarded_paths_open(b, path, n) : open_viewed(b, path, n, *fd);
    if (real < 0)
        return real;
    close(*fd);
    *fd = real;
    return 0;
}

/* ---- names that are searched for ---- */

bool guarded_paths_searched(const struct guarded_paths *b, const char *path, size_t n)
{
    for (size_t i = 0; b->bare > 0 && i < b->plan->nsearches; i++) {
        size_t m = b->plan->searches[i].len;
        if (n >= m && (n == m || path[m] == '/') && memcmp(path, b->plan->searches[i].path, m) == 0)
            return true;
    }
    return false;
}

int guarded_paths_open_bare(const struct guarded_paths *b, const char *path, size_t n)
{
    char name[2 * 4096];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    if (n < 2 || path[0] != '/' || n >= sizeof(name))
        return -EPERM;
    memcpy(name, path + 1, n - 1);
    name[n - 1] = '\0';
    int fd = (int)syscall(SYS_openat2, b->bare, name, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

int guarded_paths_look(struct guarded_paths *b, const char *path, size_t n)
{
    struct search_answer answer;
    ssize_t got;
    if (n > 4096)
        return -ENAMETOOLONG;
    if (send(b->search, n ? path : "?", n ? n : 1, MSG_NOSIGNAL) < 0)
        return -errno;
    while ((got = recv(b->search, &answer, sizeof(answer), 0)) < 0 && errno == EINTR)
        ;
    if (got != sizeof(answer))
        return got < 0 ? -errno : -EPIPE;
    b->room = answer.room;
    return answer.err;
}
