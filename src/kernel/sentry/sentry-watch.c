/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A mount guards a folder or file, not its name: when a process outside replaces it, or a folder
 * above it, the name means something that no sentry covers. So we watch every existing folder on
 * the way to a guarded name. When the next part of such a name is created, moved or removed there,
 * we check all sentries again, outer ones first. Until the kernel has notified us and we have
 * mounted, which takes moments, the new file can be read; see docs/threat-model.md.
 *
 * We watch folders before we look up the names in them, so that no change is missed. To report
 * changed permissions, the kernel marks every cached name of a folder, which takes milliseconds in
 * a crowded one and slows its users. We request those only where missing permissions keep us out.
 *
 * Users have a limited number of watches. When none is left, we check every now and then.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/sentry/sentry-main.h"
#include "kernel/shared/policy-update.h"

enum { FOLDERS = 2048, LOOK_MS = 20 };

/* The first len bytes of a guarded path: a folder on the way to it. */
struct folder {
    const char *path;
    size_t len;
    int watch;     /* -1: none */
    bool there;    /* names can be looked up in it */
    bool shut;     /* we lack the permissions to reach it, or to watch it */
    unsigned seen; /* round in which it was last checked */
};

struct watching {
    struct sentry_process *process;
    struct mounts_view mounts; /* of the host */
    struct mount_names names;
    int events; /* -1: the user has none left */
    bool blind; /* not everything could be watched: check at intervals instead */
    unsigned round;
    size_t nfolders;
    struct folder folders[FOLDERS];
};

static struct folder *find(struct watching *w, const char *path, size_t len)
{
    for (size_t i = 0; i < w->nfolders; i++)
        if (w->folders[i].len == len && memcmp(w->folders[i].path, path, len) == 0)
            return &w->folders[i];
    if (w->nfolders == FOLDERS)
        return NULL;
    w->folders[w->nfolders] = (struct folder){.path = path, .len = len, .watch = -1};
    return &w->folders[w->nfolders++];
}

static bool is_used(const struct watching *w, int watch)
{
    for (size_t i = 0; i < w->nfolders; i++)
        if (w->folders[i].watch == watch)
            return true;
    return false;
}

static void set_watch(struct watching *w, struct folder *f, int watch)
{
    int before = f->watch;
    f->watch = watch;
    if (before >= 0 && before != watch && !is_used(w, before))
        inotify_rm_watch(w->events, before);
}

/* Whether the failure comes from the folder itself. */
static bool is_out_of_reach(int err)
{
    return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP;
}

/* Adds events for the folder at the end of fd. Returns its watch or a negative errno. */
static int ask_about(struct watching *w, int fd, uint32_t events)
{
    char name[32];
    snprintf(name, sizeof(name), "self/fd/%d", fd);
    int watch = inotify_add_watch(w->events, name, events | IN_MASK_ADD | IN_ONLYDIR);
    return watch < 0 ? -errno : watch;
}

static int open_folder(const struct watching *w, const struct folder *f)
{
    char path[PLAN_SENTRY_PATH + 1];
    memcpy(path, f->path, f->len);
    path[f->len] = '\0';
    return sentry_process_open(w->process, path);
}

/* Returns whether it exists, or a negative errno. A folder that cannot be read cannot be watched,
 * but perhaps be passed through. */
static int watch_folder(struct watching *w, struct folder *f)
{
    if (f->seen == w->round)
        return f->there;
    f->seen = w->round;
    OWN(fd) int fd = open_folder(w, f);
    f->there = fd >= 0;
    f->shut = fd == -EACCES;
    if (fd < 0) {
        set_watch(w, f, -1);
        return is_out_of_reach(-fd) ? 0 : fd;
    }
    int watch = ask_about(w, fd, IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE);
    f->shut = watch == -EACCES;
    set_watch(w, f, watch < 0 ? -1 : watch);
    if (watch < 0 && (!is_out_of_reach(-watch) || faccessat(fd, ".", X_OK, 0) == 0))
        w->blind = true;
    return 1;
}

/* A folder that is closed to us may be opened later: its parent reports that. */
static void watch_rights(struct watching *w, const struct folder *above)
{
    OWN(fd) int fd = open_folder(w, above);
    if (fd >= 0)
        ask_about(w, fd, IN_ATTRIB);
}

/* Watches a folder below another watched one; NULL: below nothing. */
static int watch_below(struct watching *w, const struct folder *above, struct folder *f)
{
    int there = f ? watch_folder(w, f) : -ENOSPC;
    if (f && f->shut && above)
        watch_rights(w, above);
    return there;
}

/* Watches the folders above one guarded name, from the root downwards; and the folder itself, if
 * new names in it matter. */
static int watch_way(struct watching *w, const char *path, bool itself)
{
    struct folder *above = NULL;
    for (const char *at = path; at; at = strchr(at + 1, '/')) {
        struct folder *f = find(w, path, at == path ? 1 : (size_t)(at - path));
        int there = watch_below(w, above, f);
        if (there <= 0)
            return there;
        above = f;
    }
    int there = itself ? watch_below(w, above, find(w, path, strlen(path))) : 0;
    return there < 0 && there != -ENOTDIR ? there : 0;
}

/* Guarded files may have become visible elsewhere. The plan has no sentry there, so a mask covers
 * it. */
static int hide_aliases(struct watching *w)
{
    const struct plan *plan = w->process->plan;
    const struct mounts *m = mounts_now(&w->mounts, true);
    if (!m)
        return -EIO;
    for (size_t i = 0; m->aliased && i < plan->nsentries; i++) {
        const struct plan_sentry *g = &plan->sentries[i];
        int err = g->open ? 0 : mounts_places(m, g->path, g->len, &w->names);
        for (size_t k = 0; err == 0 && !g->open && k < w->names.n; k++)
            err = sentry_process_hide(w->process, w->names.at[k].path);
        if (err < 0)
            return err;
    }
    for (size_t i = 0; m->aliased && i < plan->nsearches; i++) {
        int err = mounts_places(m, plan->searches[i].path, plan->searches[i].len, &w->names);
        for (size_t k = 0; err == 0 && k < w->names.n; k++)
            err = sentry_process_hide(w->process, w->names.at[k].path);
        if (err < 0)
            return err;
    }
    return 0;
}

static int look_again(struct watching *w)
{
    const struct plan *plan = w->process->plan;
    w->round++;
    w->blind = w->events < 0;
    sentry_layers_before_look(w->process);
    for (size_t i = 0; i < plan->nsentries; i++) {
        int err = watch_way(w, plan->sentries[i].path, plan->masked && !plan->sentries[i].whole);
        if (err < 0)
            return err;
    }
    for (size_t i = 0; i < plan->nsentries; i++) {
        int err = sentry_process_place_at(w->process, i);
        if (err < 0)
            return err;
    }
    return hide_aliases(w);
}

/* ---- events ---- */

/* Whether a guarded name leads through this entry of a folder. */
static bool leads_to_sentry(const struct watching *w, const struct folder *f, const char *name)
{
    const struct plan *plan = w->process->plan;
    size_t from = f->len == 1 ? 1 : f->len + 1, n = strlen(name);
    for (size_t i = 0; i < plan->nsentries; i++) {
        const char *path = plan->sentries[i].path;
        if (f->len == strlen(path) && memcmp(path, f->path, f->len) == 0)
            return true; /* in a guarded folder every name does */
        if (strncmp(path, f->path, f->len) == 0 && strlen(path) >= from + n &&
            (f->len == 1 || path[f->len] == '/') && strncasecmp(path + from, name, n) == 0 &&
            (path[from + n] == '/' || path[from + n] == '\0'))
            return true;
    }
    return false;
}

static bool matters(const struct watching *w, const struct inotify_event *e)
{
    if (e->mask & (IN_Q_OVERFLOW | IN_UNMOUNT))
        return true;
    if (!e->len)
        return (e->mask & IN_ATTRIB) != 0; /* a folder's own permissions */
    for (size_t i = 0; i < w->nfolders; i++)
        if (w->folders[i].watch == e->wd && leads_to_sentry(w, &w->folders[i], e->name))
            return true;
    return false;
}

static int read_events(struct watching *w)
{
    union {
        struct inotify_event first;
        char bytes[16384];
    } block;
    ssize_t n = read(w->events, block.bytes, sizeof(block.bytes));
    if (n <= 0)
        return n < 0 && errno == EINTR ? 0 : n < 0 ? -errno : -EIO;
    int result = 0;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const void *)(block.bytes + at);
        result |= matters(w, e);
        sentry_layers_event(w->process, w->events, e);
        at += (ssize_t)(sizeof(*e) + e->len);
    }
    return result;
}

/* The judge may send a policy update. Masks stay as they are. */
static int receive_update(struct sentry_process *p)
{
    struct graph *g;
    struct policy_update what;
    int got = policy_update_receive(p->task->judge, p->task->launch, &g, &what, NULL);
    if (got != UPDATE_POLICY)
        return got;
    if (p->sentry)
        sentry_update(p->sentry, g, what.number);
    else
        graph_free(g);
    return 0;
}

/* Waits for an event. Returns 1 if it matters, 0, or a negative errno. */
static int wait_event(struct watching *w)
{
    struct sentry_process *p = w->process;
    struct pollfd fds[] = {{w->events, POLLIN, 0},
                           {p->crowd, POLLIN, 0},
                           {p->task->judge, POLLIN, 0},
                           {p->mounts, POLLPRI, 0},
                           {p->later, POLLPRI, 0},
                           {p->search ? p->task->search : -1, POLLIN, 0},
                           {sentry_search_events_fd(p), POLLIN, 0}};
    eventfd_t times;
    int soon = sentry_layers_refresh(p), search = sentry_search_timeout(p);
    int wait = soon >= 0 ? soon : w->blind ? LOOK_MS : -1;
    int n = poll(fds, 7, search >= 0 && (wait < 0 || search < wait) ? search : wait);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    int err = search >= 0 && sentry_search_timeout(p) == 0 ? sentry_search_again(p) : 0;
    if (err == 0 && fds[5].revents)
        err = sentry_search_request(p);
    if (err == 0 && fds[6].revents)
        err = sentry_search_events(p);
    if (err == 0 && p->search && (fds[4].revents & POLLPRI))
        err = sentry_search_again(p);
    if (err < 0 || n == 0)
        return err < 0 ? err : w->blind;
    if (fds[2].revents) {
        err = receive_update(p);
        if (err < 0)
            return err; /* it is gone */
    }
    if (fds[1].revents && eventfd_read(p->crowd, &times) == 0)
        sentry_drop(p->fs);
    if ((fds[3].revents | fds[4].revents) & POLLPRI) {
        w->mounts.current = false;
        return 1;
    }
    return fds[0].revents ? read_events(w) : 0;
}

int watch_names(struct sentry_process *p)
{
    static struct watching w; /* large, and one for the whole process */
    int changed = 1;
    w.process = p;
    mounts_open(&w.mounts, p->later);
    w.events = inotify_init1(IN_CLOEXEC);
    /* our own mounts are no news */
    poll((struct pollfd[]){{p->mounts, POLLPRI, 0}, {p->later, POLLPRI, 0}}, 2, 0);
    sentry_layers_watch(p, w.events);
    if (p->search && sentry_search_begin(p) < 0)
        return -EIO;
    while (changed >= 0) {
        int err = changed ? look_again(&w) : 0;
        changed = err < 0 ? err : wait_event(&w);
    }
    return changed;
}
