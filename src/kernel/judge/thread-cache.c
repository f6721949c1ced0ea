/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the judge remembers of the threads that call, because finding it out costs more than the
 * rest of a call: reading /proc/TID/status takes 10 µs.
 *
 * The cache holds a descriptor of each thread's folder in /proc. It stays with that thread, even if
 * its tid is reused. If the folder is alive after the request arrived, and the request is valid
 * afterwards, both mean the same thread: two living threads cannot share a tid. Where credentials
 * are remembered, a pidfd of the thread says the same in a third of the time (Linux 6.9).
 *
 * A thread's umask changes when it calls umask(), or another thread that shares it does. The filter
 * reports those calls, and each invalidates all cached umasks. The kernel then performs the call;
 * its argument is in a register and cannot change. But it may do so at any later time. So until the
 * caller was seen with its new umask, or making another call, the judge reads umasks without
 * caching them. If two threads that share a umask change it at the same time, the judge may see
 * either order.
 *
 * If a thread other than the main one executes a program, it takes over the main thread's tid and
 * folder. It has the same umask, unless it stopped sharing: once something inside does that
 * (unshare(), or clone() of a thread without CLONE_FS), the judge caches no umask any more.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"

static struct cached_thread *slot_of(struct judge *j, pid_t tid)
{
    return &j->threads.known[(unsigned)tid % CACHED_THREADS];
}

static void forget(struct cached_thread *k)
{
    if (k->tid) {
        close(k->folder);
        if (k->life >= 0)
            close(k->life);
        if (k->cwd >= 0)
            close(k->cwd);
    }
    *k = (struct cached_thread){.life = -1, .cwd = -1};
}

static bool is_alive(const struct cached_thread *k)
{
    struct pollfd life = {k->life, POLLIN, 0};
    return k->life >= 0 ? poll(&life, 1, 0) == 0 : faccessat(k->folder, ".", F_OK, 0) == 0;
}

/* Opens the thread's folder and caches it. */
static struct cached_thread *cache_thread(struct judge *j, const struct request *r)
{
    struct cached_thread *k = slot_of(j, r->tid);
    char name[16];
    forget(k);
    snprintf(name, sizeof(name), "%d", r->tid);
    k->folder = openat(j->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (k->folder < 0)
        return NULL;
    k->tid = r->tid;
    k->seen = r->id;
    return k;
}

int thread_cache_open(struct judge *j, const struct request *r, const char *name, int flags)
{
    struct cached_thread *k = slot_of(j, r->tid);
    bool fresh = k->tid != r->tid;
    if (fresh)
        k = cache_thread(j, r);
    int fd = k ? openat(k->folder, name, flags | O_CLOEXEC) : -1;
    if (fd < 0 && k && !fresh) { /* the tid was reused */
        k = cache_thread(j, r);
        fd = k ? openat(k->folder, name, flags | O_CLOEXEC) : -1;
    }
    if (fd < 0)
        return -errno;
    k->seen = r->id;
    return fd;
}

struct cached_thread *thread_cache_caller(struct judge *j, const struct request *r)
{
    struct cached_thread *k = slot_of(j, r->tid);
    if (k->tid == r->tid && k->seen == r->id)
        return k;
    if (k->tid != r->tid || !is_alive(k))
        k = cache_thread(j, r);
    if (k)
        k->seen = r->id;
    return k;
}

void thread_cache_confirm(struct judge *j, const struct request *r)
{
    struct cached_thread *k = slot_of(j, r->tid);
    if (k->tid == r->tid && k->seen == r->id)
        k->sure = r->id;
}

/* ---- the working folder ---- */

void thread_cache_set_folder(struct judge *j, const struct request *r, int cwd, uint64_t as_of)
{
    struct cached_thread *k = thread_cache_caller(j, r);
    OWN(fd) int folder = cwd < 0 ? -1 : fcntl(cwd, F_DUPFD_CLOEXEC, 3);
    OWN(fd) int life = k && k->life < 0 && folder >= 0 ? target_pidfd(r) : -1;
    if (!k || !request_is_valid(j, r))
        return;
    if (k->cwd >= 0)
        close(k->cwd);
    k->cwd = steal_fd(&folder);
    k->cwd_as_of = as_of;
    if (life >= 0)
        k->life = steal_fd(&life);
}

void thread_cache_close_folders(struct judge *j)
{
    for (size_t i = 0; i < CACHED_THREADS; i++) {
        struct cached_thread *k = &j->threads.known[i];
        if (k->tid && k->cwd >= 0)
            close(k->cwd);
        k->cwd = -1;
    }
}

/* ---- the umask ---- */

/* Returns a thread's umask or a negative errno. */
static int read_umask(int folder)
{
    char text[256];
    OWN(fd) int fd = openat(folder, "status", O_RDONLY | O_CLOEXEC);
    /* it is in the second line; the name in the first has at most 64 bytes */
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return -EPERM;
    text[n] = '\0';
    const char *at = strstr(text, "\nUmask:");
    char *end = NULL;
    unsigned long mask = at ? strtoul(at + 7, &end, 8) : 01000;
    return mask <= 0777 && end && *end == '\n' ? (int)mask : -EPERM;
}

/* Forgets calls of umask() that are complete: their callers are gone, have the new umask, or make
 * the current call. */
static void settle_changes(struct judge *j, const struct request *r)
{
    for (size_t i = 0; i < j->threads.nchanging;) {
        struct changing *c = &j->threads.changing[i];
        int mask = c->tid == r->tid ? -ESRCH : read_umask(c->folder);
        if (mask >= 0 && (mode_t)mask != c->mask) {
            i++;
            continue;
        }
        close(c->folder);
        *c = j->threads.changing[--j->threads.nchanging];
    }
}

int thread_cache_umask(struct judge *j, const struct request *r, mode_t *mask)
{
    struct cached_thread *k = thread_cache_caller(j, r);
    if (!k)
        return -EPERM;
    if (!k->has_umask || k->umask_as_of != j->threads.umask_changes || j->threads.umask_unsteady) {
        settle_changes(j, r);
        int got = read_umask(k->folder);
        if (got < 0)
            return got;
        k->umask = (mode_t)got;
        k->umask_as_of = j->threads.umask_changes;
        k->has_umask = j->threads.nchanging == 0;
    }
    *mask = k->umask;
    return k->sure == r->id || request_is_valid(j, r) ? 0 : -EPERM;
}

/* ---- credentials ---- */

bool thread_cache_has_creds(struct judge *j, const struct request *r)
{
    const struct cached_thread *k = slot_of(j, r->tid);
    if (k->tid != r->tid || !k->creds_as_of || k->creds_as_of != j->creds.as_of)
        return false;
    k = thread_cache_caller(j, r); /* a new entry if the number belongs to another thread by now */
    return k && k->creds_as_of == j->creds.as_of && request_is_valid(j, r);
}

void thread_cache_set_creds(struct judge *j, const struct request *r)
{
    struct cached_thread *k = thread_cache_caller(j, r);
    OWN(fd) int life = k && k->life < 0 ? target_pidfd(r) : -1;
    if (!k || !request_is_valid(j, r))
        return;
    if (life >= 0) /* the caller's, since it is alive; looked at before its calls from now on */
        k->life = steal_fd(&life);
    k->creds_as_of = j->creds.as_of;
}

/* ---- what changes it ---- */

void thread_cache_observe(struct judge *j, const struct request *r)
{
    if (r->nr == SYS_clone && (r->args[0] & (CLONE_THREAD | CLONE_FS)) == CLONE_THREAD)
        j->threads.umask_unsteady = true;
}

struct answer handle_umask(struct judge *j, const struct request *r)
{
    settle_changes(j, r);
    j->threads.umask_changes++;
    struct cached_thread *k = thread_cache_caller(j, r);
    int folder = k ? fcntl(k->folder, F_DUPFD_CLOEXEC, 3) : -1;
    if (r->nr != SYS_umask || folder < 0 || j->threads.nchanging == CHANGING_MAX) {
        j->threads.umask_unsteady = true;
        if (folder >= 0)
            close(folder);
        return answer_continue();
    }
    j->threads.changing[j->threads.nchanging++] =
        (struct changing){r->tid, folder, (mode_t)r->args[0] & 0777};
    return answer_continue();
}
