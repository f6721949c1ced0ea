/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What lies behind the guards. A name that the command gives is resolved as the command would see
 * it, and so may end at a sentry, which only reads. The worker then takes the same path from the
 * real folder, which was opened before the sentry stood in front of it. Both are in the sandbox's
 * mount table, so that things can be moved from behind a sentry and back.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/fd-pass.h"

/* ---- hearing ---- */

static void take(struct behind *b, const struct guard_msg *m, int fd)
{
    bool known = m->index >= 0 && (size_t)m->index < b->plan->nguards;
    if (!known || (m->kind != GUARD_REAL && m->kind != GUARD_GONE)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (b->real[m->index] >= 0)
        close(b->real[m->index]);
    b->real[m->index] = fd;
}

bool guards_cover(const struct plan *p, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < p->nguards; i++) {
        size_t m = p->guards[i].len;
        if (n >= m && (n == m || path[m] == '/') && memcmp(path, p->guards[i].path, m) == 0)
            return true;
    }
    return false;
}

int behind_wait(struct behind *b, const struct plan *plan, int from, enum launch_stage *stage)
{
    struct guard_msg m;
    ssize_t n;
    b->from = from;
    for (size_t i = 0; i < PLAN_GUARDS; i++)
        b->real[i] = -1;
    for (size_t i = 0; i < plan->nguards; i++)
        b->len[i] = plan->guards[i].len;
    b->plan = plan;
    *stage = STAGE_SENTRY;
    /* that the connection was reset is said once, and before what it had sent, when it ended
     * without having read all of ours */
    do
        n = read(from, &m, sizeof(m));
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n != sizeof(m))
        return n < 0 ? -errno : -ECHILD;
    if (m.kind != GUARD_READY) {
        bool failed = m.kind == GUARD_FAILED && m.err > 0;
        *stage = failed ? (enum launch_stage)m.stage : STAGE_SENTRY;
        return failed ? -m.err : -EPROTO;
    }
    b->dev = m.dev;
    b->coming = m.index;
    return 0;
}

int behind_take(struct behind *b)
{
    struct guard_msg m;
    int fd;
    for (; b->coming > 0; b->coming--) {
        ssize_t n = pass_receive(b->from, &m, sizeof(m), &fd);
        if (n != sizeof(m) || m.kind != GUARD_REAL || fd < 0)
            return n < 0 ? (int)n : -ECHILD;
        take(b, &m, fd);
    }
    return 0;
}

bool behind_hear(struct behind *b)
{
    struct guard_msg m;
    int fd;
    ssize_t n = pass_receive(b->from, &m, sizeof(m), &fd);
    if (n != sizeof(m))
        return n > 0;
    take(b, &m, fd);
    return true;
}

/* ---- finding ---- */

/* The innermost guard that a path lies in and something lies behind; -1: none. Inner ones come
 * later. */
static int innermost(const struct behind *b, const char *path, size_t n, size_t *len)
{
    for (size_t i = b->plan->nguards; i-- > 0;) {
        size_t m = b->len[i];
        if (b->real[i] >= 0 && n >= m && (n == m || path[m] == '/') &&
            memcmp(path, b->plan->guards[i].path, m) == 0) {
            *len = m;
            return (int)i;
        }
    }
    return -1;
}

bool behind_covers(const struct behind *b, const char *path, size_t n)
{
    size_t len;
    return b->plan && innermost(b, path, n, &len) >= 0;
}

int behind_open(const struct behind *b, const char *path, size_t n)
{
    char rest[PLAN_GUARD_PATH + 4096];
    size_t len;
    int i = b->plan ? innermost(b, path, n, &len) : -1, fd;
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

/* Asks the kernel only: a question about the file itself would go to the sentry, which would judge
 * it. */
int behind_glance(int fd, struct statx *st)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, st) < 0 ? -errno : 0;
}

bool behind_shows(const struct behind *b, const struct statx *st)
{
    return b->plan && makedev(st->stx_dev_major, st->stx_dev_minor) == b->dev;
}

static bool is_view(const struct behind *b, int fd)
{
    struct statx st;
    return b->plan && behind_glance(fd, &st) == 0 && behind_shows(b, &st);
}

int behind_swap(const struct behind *b, const char *path, size_t n, int *fd)
{
    if (!behind_covers(b, path, n) || !is_view(b, *fd))
        return 0;
    int real = behind_open(b, path, n);
    if (real < 0)
        return real;
    close(*fd);
    *fd = real;
    return 0;
}
