/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What is remembered of the threads that call, because finding it out costs more than the rest of a
 * call: reading /proc/TID/status takes 10 µs.
 *
 * A thread is remembered with a descriptor of its folder in /proc, which belongs to that very
 * thread and to nobody who is given its number later. If the folder is found alive after the
 * request was received, and the request is valid afterwards, both are the same thread: two that
 * live cannot share a number.
 *
 * The umask of a thread changes when it, or one that shares it, calls umask(). The filter shows us
 * those calls, and each makes everything that was known old. The kernel then goes on with the call;
 * its argument is in a register and cannot change. But it does so when it likes, so until the
 * caller was seen to have its new mask, or to be doing something else, what others have is read and
 * not remembered. Two threads that share a mask and change it at the same time may be seen in
 * either order.
 *
 * A thread that executes a program while it is not the first of its process takes over that one's
 * number and folder. It has the same mask, unless it stopped sharing: once something inside does
 * that (unshare(), or clone() of a thread without CLONE_FS) nothing is remembered any more.
 */

#include <errno.h>
#include <fcntl.h>
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

static struct cached_thread *slot_of(struct judge *w, pid_t tid)
{
    return &w->known[(unsigned)tid % KNOWN_THREADS];
}

/* The thread's folder, opened anew. */
static struct cached_thread *get_to_know(struct judge *w, const struct request *r)
{
    struct cached_thread *k = slot_of(w, r->tid);
    char name[16];
    if (k->tid)
        close(k->folder);
    snprintf(name, sizeof(name), "%d", r->tid);
    *k = (struct cached_thread){.tid = r->tid, .seen = r->id};
    k->folder = openat(w->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (k->folder >= 0)
        return k;
    k->tid = 0;
    return NULL;
}

int thread_cache_open(struct judge *w, const struct request *r, const char *name, int flags)
{
    struct cached_thread *k = slot_of(w, r->tid);
    bool fresh = k->tid != r->tid;
    if (fresh)
        k = get_to_know(w, r);
    int fd = k ? openat(k->folder, name, flags | O_CLOEXEC) : -1;
    if (fd < 0 && k && !fresh) { /* another thread by now */
        k = get_to_know(w, r);
        fd = k ? openat(k->folder, name, flags | O_CLOEXEC) : -1;
    }
    if (fd < 0)
        return -errno;
    k->seen = r->id;
    return fd;
}

/* What is known of the caller, if it is the one that is known. */
static struct cached_thread *known_caller(struct judge *w, const struct request *r)
{
    struct cached_thread *k = slot_of(w, r->tid);
    if (k->tid == r->tid && k->seen == r->id)
        return k;
    if (k->tid != r->tid || faccessat(k->folder, ".", F_OK, 0) < 0)
        k = get_to_know(w, r);
    if (k)
        k->seen = r->id;
    return k;
}

void thread_cache_confirm(struct judge *w, const struct request *r)
{
    struct cached_thread *k = slot_of(w, r->tid);
    if (k->tid == r->tid && k->seen == r->id)
        k->sure = r->id;
}

/* ---- the umask ---- */

/* A thread's mask; or a negated errno. */
static int read_umask(int folder)
{
    char text[256];
    OWN(fd) int fd = openat(folder, "status", O_RDONLY | O_CLOEXEC);
    /* it stands in the second line; the name in the first has at most 64 bytes */
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return -EPERM;
    text[n] = '\0';
    const char *at = strstr(text, "\nUmask:");
    char *end = NULL;
    unsigned long mask = at ? strtoul(at + 7, &end, 8) : 01000;
    return mask <= 0777 && end && *end == '\n' ? (int)mask : -EPERM;
}

/* Forgets about calls of umask() that are over: their callers are gone, have what they wanted, or
 * are making the call that is being answered. */
static void settle_changes(struct judge *w, const struct request *r)
{
    for (size_t i = 0; i < w->nchanging;) {
        struct changing *c = &w->changing[i];
        int mask = c->tid == r->tid ? -ESRCH : read_umask(c->folder);
        if (mask >= 0 && (mode_t)mask != c->mask) {
            i++;
            continue;
        }
        close(c->folder);
        *c = w->changing[--w->nchanging];
    }
}

int thread_cache_umask(struct judge *w, const struct request *r, mode_t *mask)
{
    struct cached_thread *k = known_caller(w, r);
    if (!k)
        return -EPERM;
    if (!k->has_umask || k->umask_as_of != w->umask_changes || w->umask_unsteady) {
        settle_changes(w, r);
        int got = read_umask(k->folder);
        if (got < 0)
            return got;
        k->umask = (mode_t)got;
        k->umask_as_of = w->umask_changes;
        k->has_umask = w->nchanging == 0;
    }
    *mask = k->umask;
    return k->sure == r->id || request_is_valid(w, r) ? 0 : -EPERM;
}

void thread_cache_observe(struct judge *w, const struct request *r)
{
    if (r->nr == SYS_clone && (r->args[0] & (CLONE_THREAD | CLONE_FS)) == CLONE_THREAD)
        w->umask_unsteady = true;
}

struct answer handle_umask(struct judge *w, const struct request *r)
{
    settle_changes(w, r);
    w->umask_changes++;
    struct cached_thread *k = known_caller(w, r);
    int folder = k ? fcntl(k->folder, F_DUPFD_CLOEXEC, 3) : -1;
    if (r->nr != SYS_umask || folder < 0 || w->nchanging == CHANGING_MAX) {
        w->umask_unsteady = true;
        if (folder >= 0)
            close(folder);
        return answer_go_on();
    }
    w->changing[w->nchanging++] = (struct changing){r->tid, folder, (mode_t)r->args[0] & 0777};
    return answer_go_on();
}
