/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Sentries on single names that patterns deny (struct plan_search). Before the command starts, the
 * folders are searched and each name that is found gets a sentry. From then on:
 *
 *   inside    The judge creates and moves every name. It asks us to look at a new one before it
 *             answers the call. A sentry moves along with its file, and is gone with its name:
 *             the judge removes and renames in a mount namespace that has no sentries.
 *   outside   We watch every folder. Until the kernel has notified us and we have mounted, a new
 *             file can be read; see docs/threat-model.md.
 *
 * Nothing is remembered about a name: whether a sentry is on it is visible. When watches run out,
 * or a folder is closed to us, we search again every now and then.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/sentry/sentry-main.h"
#include "kernel/shared/name-search.h"

enum {
    FIRST_MAX = NAME_SEARCH_FOUND,
    LOOK_MS = 20,    /* between two searches, where we cannot watch */
    LATER = 1 << 24, /* names to look at in a later search */
    TRIES = 1000,    /* to cover a file that other processes keep replacing */
    PAUSE_MS = 2,    /* between two looks at events: the command's own are events, too */
    EVENTS = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK,
};

/* A file or folder with a sentry: its number in the sentries' file system, and what that pins. */
struct found {
    int number, fd;
};

struct sentry_search {
    struct sentry_process *process;
    struct name_search search;
    struct name_recorder recorder; /* of the first search */
    struct found found[SEARCH_NAMES_MAX];
    size_t nfound;
    char *first[FIRST_MAX]; /* before anything is mounted */
    size_t nfirst;
    int events;       /* inotify; -1: not yet, or the user has none left */
    bool inner;       /* the plan has sentries in these folders */
    bool blind;       /* not everything is watched */
    uint64_t look_ms; /* if so: when to search again */
    char **watched;   /* by watch: the folder's path, or NULL */
    size_t nwatched;
};

/* ---- mounting ---- */

/* Forgets files that were removed. Returns how many names can get a sentry. */
static size_t make_room(struct sentry_search *f)
{
    struct stat st;
    size_t kept = 0;
    for (size_t i = 0; i < f->nfound; i++) {
        if (fstat(f->found[i].fd, &st) == 0 && st.st_nlink == 0)
            sentry_path_remove(f->process->sentry, f->found[i].number);
        else
            f->found[kept++] = f->found[i];
    }
    f->nfound = kept;
    return SEARCH_NAMES_MAX - kept;
}

static int cover_with(struct sentry_search *f, const struct stat *st, int *real, int on)
{
    const struct sentry_process *p = f->process;
    char name[16];
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) {
        OWN(fd) int null = sentry_process_copy(AT_FDCWD, "/dev/null");
        return null < 0 ? null : sentry_process_attach(null, on);
    }
    if (f->nfound == SEARCH_NAMES_MAX && make_room(f) == 0)
        return -ENOSPC;
    int number = sentry_path_add(p->sentry, *real);
    if (number < 0)
        return number;
    struct found new = {number, steal_fd(real)};
    snprintf(name, sizeof(name), "%d", number);
    OWN(fd) int tree = sentry_process_copy(p->fs, name);
    int err = tree < 0 ? tree : sentry_process_attach(tree, on);
    if (err < 0)
        sentry_path_remove(p->sentry, number);
    else
        f->found[f->nfound++] = new;
    poll(&(struct pollfd){p->mounts, POLLPRI, 0}, 1, 0); /* our own mounts are no news */
    return err;
}

/* Whether a sentry covers it already: what the command sees there is ours. A mount is gone with the
 * name that it was on, so it cannot be that of another file. */
static bool is_covered(const struct sentry_process *p, const struct stat *st,
                       const struct statx *seen)
{
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return seen->stx_rdev_major == 1 && seen->stx_rdev_minor == 3;
    return makedev(seen->stx_dev_major, seen->stx_dev_minor) == p->dev;
}

static int cover(void *arg, const char *path, size_t len)
{
    struct sentry_search *f = arg;
    struct sentry_process *p = f->process;
    (void)len;
    for (int tries = 0; tries < TRIES; tries++) {
        struct stat st;
        struct statx now;
        OWN(fd) int real = sentry_process_open(p, path);
        OWN(fd) int seen = real < 0 ? real : sentry_process_open_inside(path);
        if (seen < 0)
            return sentry_process_is_nothing(seen) ? 0 : seen;
        if (fstat(real, &st) < 0 || guarded_paths_glance(seen, &now) < 0)
            return -errno;
        if (S_ISLNK(st.st_mode) || S_ISSOCK(st.st_mode) || is_covered(p, &st, &now))
            return 0;
        if (makedev(now.stx_dev_major, now.stx_dev_minor) != st.st_dev || now.stx_ino != st.st_ino)
            continue; /* something else by now */
        int err = cover_with(f, &st, &real, seen);
        if (err != -ENOENT && err != -EINVAL && err != -ESTALE)
            return err;
    }
    return -EBUSY;
}

/* ---- before the command starts ---- */

static int keep_first(void *arg, const char *path, size_t len)
{
    struct sentry_search *f = arg;
    if (f->nfirst == FIRST_MAX)
        return -E2BIG;
    f->first[f->nfirst] = strndup(path, len);
    return f->first[f->nfirst++] ? 0 : -ENOMEM;
}

/* What a sentry of the plan guards is not searched. */
static int leave_guarded(void *arg, const char *path)
{
    const struct sentry_search *f = arg;
    return f->inner && sentries_cover(f->process->plan, path);
}

static bool has_inner(const struct plan *p)
{
    for (size_t i = 0; i < p->nsentries; i++)
        for (size_t k = 0; k < p->nsearches; k++) {
            size_t n = p->searches[k].len;
            if (p->sentries[i].len >= n && memcmp(p->sentries[i].path, p->searches[k].path, n) == 0)
                return true;
        }
    return false;
}

/* All of it; of what is in a record, only what changed since. */
static int search_all(struct sentry_search *f, const struct name_record *record, bool *changed)
{
    const struct plan *plan = f->process->plan;
    int err = record ? name_search_again(&f->search, record, changed) : 0;
    for (size_t i = 0; i < plan->nsearches && err == 0; i++) {
        if (record && name_record_has(record, plan->searches[i].path))
            continue;
        *changed = true;
        err = name_search(&f->search, plan->searches[i].path, plan->searches[i].len);
    }
    return err;
}

/* To look at so many each time takes a tenth of a millisecond. Keeping what was found takes the
 * controller two, and a short command has ended by then. */
enum { FEW_NAMES = 256 };

int sentry_search_first(struct sentry_process *p)
{
    static struct sentry_search the_search;
    struct sentry_search *f = &the_search;
    f->process = p;
    f->events = -1;
    f->inner = has_inner(p->plan);
    f->search = (struct name_search){.graph = p->task->graph,
                                     .cache = graph_cache_new(p->task->graph),
                                     .root = p->root,
                                     .uid = geteuid(),
                                     .gid = getegid(),
                                     .left = NAME_SEARCH_MAX,
                                     .found = keep_first,
                                     .folder = leave_guarded,
                                     .recorder = p->task->record ? NULL : &f->recorder,
                                     .arg = f};
    p->search = f;
    name_recorder_begin(&f->recorder);
    int err = f->search.cache ? search_all(f, p->task->record, &p->search_changed) : -ENOMEM;
    p->search_changed &= NAME_SEARCH_MAX - f->search.left > FEW_NAMES;
    return err;
}

int sentry_search_place(struct sentry_process *p)
{
    struct sentry_search *f = p->search;
    int err = 0;
    for (size_t i = 0; i < f->nfirst && err == 0; i++) {
        err = cover(f, f->first[i], strlen(f->first[i]));
        free(f->first[i]);
    }
    f->nfirst = 0;
    f->search.found = cover; /* from now on */
    f->search.lenient = true;
    f->search.recorder = NULL;
    return err;
}

/* ---- watching ---- */

static bool remember(struct sentry_search *f, size_t watch, const char *path)
{
    if (watch >= f->nwatched) {
        size_t n = 2 * watch + 64;
        char **more = realloc(f->watched, n * sizeof(*more));
        if (!more)
            return false;
        memset(more + f->nwatched, 0, (n - f->nwatched) * sizeof(*more));
        f->watched = more;
        f->nwatched = n;
    }
    if (f->watched[watch] && strcmp(f->watched[watch], path) == 0)
        return true;
    free(f->watched[watch]);
    f->watched[watch] = strdup(path);
    return f->watched[watch] != NULL;
}

static int watch_folder(void *arg, const char *path)
{
    struct sentry_search *f = arg;
    if (leave_guarded(f, path))
        return 1;
    int watch = f->events < 0 ? -1 : inotify_add_watch(f->events, path + 1, EVENTS);
    bool gone = f->events >= 0 && watch < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (!gone && (watch < 0 || !remember(f, (size_t)watch, path)))
        f->blind = true;
    return 0;
}

/* Names are looked up from the host's root, which is the working directory meanwhile: for
 * inotify_add_watch() there is no other way but through /proc, which takes longer. */
static int enter_root(const struct sentry_search *f)
{
    return fchdir(f->process->root) < 0 ? -errno : 0;
}

static int leave_root(const struct sentry_search *f, int err)
{
    return fchdir(f->process->proc) < 0 ? -errno : err;
}

/* Errors that say nothing about the rest end the run: without its sentry it does not go on. */
static int look(struct sentry_search *f, const char *path, size_t len)
{
    f->search.left = LATER;
    int err = enter_root(f);
    if (err == 0)
        err = leave_root(f, name_search(&f->search, path, len));
    f->blind |= f->search.closed;
    f->search.closed = false;
    return err;
}

/* With a record of what was searched before it was watched, or NULL. */
static int look_everywhere(struct sentry_search *f, const struct name_record *record)
{
    uint64_t began = now_ms();
    bool changed;
    f->blind = f->events < 0;
    f->search.left = LATER;
    int err = enter_root(f);
    if (err == 0)
        err = leave_root(f, search_all(f, record, &changed));
    f->blind |= f->search.closed;
    f->search.closed = false;
    uint64_t took = now_ms() - began;
    f->look_ms = now_ms() + (took > LOOK_MS / 10 ? 10 * took : LOOK_MS);
    return err;
}

int sentry_search_begin(struct sentry_process *p)
{
    struct sentry_search *f = p->search;
    f->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    f->search.folder = watch_folder;
    const struct name_record *before = p->task->record;
    if (!before && !f->recorder.failed)
        before = &f->recorder.record;
    int err = look_everywhere(f, before);
    name_recorder_free(&f->recorder);
    return err;
}

int sentry_search_again(struct sentry_process *p)
{
    return look_everywhere(p->search, NULL);
}

int sentry_search_events_fd(const struct sentry_process *p)
{
    return p->search ? p->search->events : -1;
}

int sentry_search_timeout(const struct sentry_process *p)
{
    const struct sentry_search *f = p->search;
    if (!f || !f->blind)
        return -1;
    uint64_t now = now_ms();
    return now >= f->look_ms ? 0 : (int)(f->look_ms - now);
}

/* ---- events ---- */

static int take_event(struct sentry_search *f, const struct inotify_event *e, bool *all)
{
    char path[2 * 4096];
    *all |= (e->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) != 0;
    char *in = e->wd >= 0 && (size_t)e->wd < f->nwatched ? f->watched[e->wd] : NULL;
    if (in && (e->mask & IN_IGNORED)) {
        free(in);
        f->watched[e->wd] = NULL;
    } else if (in && e->len) {
        int n = snprintf(path, sizeof(path), "%s/%s", in, e->name);
        return n >= 4096 ? 0 : look(f, path, (size_t)n);
    }
    return 0;
}

int sentry_search_events(struct sentry_process *p)
{
    struct sentry_search *f = p->search;
    union {
        struct inotify_event first;
        char bytes[16384];
    } block;
    bool all = false;
    ssize_t n = read(f->events, block.bytes, sizeof(block.bytes));
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(block.bytes + at);
        int err = take_event(f, e, &all);
        if (err < 0)
            return err;
        at += (ssize_t)(sizeof(*e) + e->len);
    }
    int err = all ? look_everywhere(f, NULL) : 0;
    return err < 0 ? err : sentry_search_rest(p, PAUSE_MS);
}

/* ---- the judge's questions ---- */

int sentry_search_request(struct sentry_process *p)
{
    struct sentry_search *f = p->search;
    char path[4096 + 1];
    ssize_t n = recv(p->task->search, path, sizeof(path) - 1, 0);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    if (n == 0)
        return -EPIPE;
    path[n] = '\0';
    struct search_answer answer = {.err = path[0] == '/' ? look(f, path, (size_t)n) : 0};
    answer.room = (uint32_t)(SEARCH_NAMES_MAX - f->nfound);
    if (answer.room == 0)
        answer.room = (uint32_t)make_room(f);
    if (send(p->task->search, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
        return -errno;
    return answer.err;
}

int sentry_search_rest(struct sentry_process *p, int ms)
{
    uint64_t until = now_ms() + (uint64_t)ms;
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd fd = {p->task->search, POLLIN, 0};
        if (now >= until)
            return 0;
        int n = poll(&fd, 1, (int)(until - now));
        int err = n > 0 ? sentry_search_request(p) : 0;
        if (err < 0)
            return err;
    }
}
