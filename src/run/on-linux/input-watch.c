/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Every folder on the way to a name that was looked up is watched for that name, whether it is
 * there or not. So a name cannot begin to mean something else without an event, which the kernel
 * queues before the call that caused it returns. Events for other names don't count, except in a
 * folder that was listed or whose times were read. Rights of folders, and contents that were
 * written through a mapping, cause no event here: one lstat() for each folder and file compares
 * them.
 *
 * The kernel reports what this host does. On file systems that others can change (networks, FUSE)
 * nothing is watched.
 */

#include "run/on-linux/input-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "run/on-linux/lookups.h"

enum { NODES = 1024, LINKS = 40, NO_WATCH = -1, ROOT = 0 };
enum kind { ABSENT, FOLDER, OTHER, LINK };

struct facts {
    uint64_t dev, ino, mode, uid, gid, size, mtime, ctime;
};

/* A name in a folder. */
struct node {
    int parent;
    char *name; /* owned */
    char *path; /* owned; canonical */
    enum kind kind;
    int watch;
    bool whole; /* all facts count, and in a folder all names */
    struct facts facts;
};

struct input_watch {
    int events;
    bool changed;
    size_t n;
    struct node nodes[NODES];
};

/* ---- nodes ---- */

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static struct facts facts_of(const struct stat *st, bool all)
{
    struct facts f = {st->st_dev, st->st_ino, st->st_mode, st->st_uid, st->st_gid, 0, 0, 0};
    if (all) {
        f.size = (uint64_t)st->st_size;
        f.mtime = nanoseconds(&st->st_mtim);
        f.ctime = nanoseconds(&st->st_ctim);
    }
    return f;
}

static bool look_at(struct node *n)
{
    struct stat st;
    n->watch = NO_WATCH;
    if (lstat(n->path, &st) < 0) {
        n->kind = ABSENT;
        return errno == ENOENT || errno == ENOTDIR;
    }
    n->facts = facts_of(&st, false);
    n->kind = S_ISDIR(st.st_mode) ? FOLDER : S_ISLNK(st.st_mode) ? LINK : OTHER;
    return true;
}

static int add_node(struct input_watch *w, int parent, const char *name, size_t len)
{
    struct node *n = &w->nodes[w->n];
    const char *above = parent > ROOT ? w->nodes[parent].path : "";
    if (w->n == NODES)
        return -1;
    size_t size = strlen(above) + len + 2;
    *n = (struct node){.parent = parent, .name = strndup(name, len), .path = malloc(size)};
    w->n++;
    if (!n->name || !n->path)
        return -1;
    size_t at = strlen(above);
    memcpy(n->path, above, at);
    n->path[at] = '/';
    memcpy(n->path + at + 1, n->name, len + 1);
    return look_at(n) ? (int)w->n - 1 : -1;
}

static int find_node(struct input_watch *w, int parent, const char *name, size_t len)
{
    for (size_t i = ROOT + 1; i < w->n; i++) {
        const struct node *n = &w->nodes[i];
        if (n->parent == parent && strncmp(n->name, name, len) == 0 && !n->name[len])
            return (int)i;
    }
    return add_node(w, parent, name, len);
}

/* ---- watching ---- */

/* Those that only this host changes, through its own calls. */
static bool is_local(const char *path)
{
    static const uint32_t local[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
                                     TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                     RAMFS_MAGIC};
    struct statfs fs;
    if (statfs(path, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        if ((uint32_t)fs.f_type == local[i])
            return true;
    return false;
}

static bool watch_node(struct input_watch *w, struct node *n, uint32_t events)
{
    if (n->watch != NO_WATCH)
        return true;
    n->watch = is_local(n->path) ? inotify_add_watch(w->events, n->path, events) : NO_WATCH;
    return n->watch >= 0;
}

static bool watch_folder(struct input_watch *w, struct node *n)
{
    return watch_node(w, n,
                      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                          IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW);
}

/* Times alone would miss a change in the same tick of the clock. */
static bool watch_whole(struct input_watch *w, struct node *n, bool contents)
{
    struct stat st;
    if (n->kind == ABSENT || n->kind == LINK)
        return true;
    if (!n->whole && lstat(n->path, &st) < 0)
        return false;
    if (!n->whole)
        n->facts = facts_of(&st, true);
    n->whole = true;
    bool watched = n->kind == FOLDER
                       ? watch_folder(w, n)
                       : watch_node(w, n,
                                    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF |
                                        IN_MOVE_SELF | IN_DONT_FOLLOW);
    return watched || !contents;
}

/* ---- paths ---- */

/* What leads to this process's own descriptors and files, below /proc. */
static bool is_own(const char *rest)
{
    static const char *const own[] = {"self/exe", "self/mountinfo", "self/fd"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(rest, own[i]) == 0)
            return true;
    const char *fd = strncmp(rest, "self/fd/", 8) == 0 ? rest + 8 : "-";
    return fd[strspn(fd, "0123456789")] == '\0';
}

struct way {
    char rest[2 * PATH_MAX];
    int at;
    int links;
};

static bool follow(struct input_watch *w, struct way *way, const char *after)
{
    char text[2 * PATH_MAX];
    const struct node *link = &w->nodes[way->at];
    ssize_t n = readlink(link->path, text, PATH_MAX);
    if (n <= 0 || n == PATH_MAX || ++way->links > LINKS || strlen(after) >= PATH_MAX)
        return false;
    memcpy(text + n, after, strlen(after) + 1);
    way->at = text[0] == '/' ? ROOT : link->parent;
    memcpy(way->rest, text, strlen(text) + 1);
    return true;
}

/* Goes on to the next name. Returns 1, 0 at the end, or -1. */
static int step(struct input_watch *w, struct way *way)
{
    char *name = way->rest + strspn(way->rest, "/");
    size_t len = strcspn(name, "/");
    const struct node *at = &w->nodes[way->at];
    if (len == 0 || at->kind != FOLDER || (strcmp(at->path, "/proc") == 0 && is_own(name)))
        return 0;
    bool up = len == 2 && memcmp(name, "..", 2) == 0;
    if (up || (len == 1 && name[0] == '.')) {
        way->at = up ? w->nodes[way->at].parent : way->at;
    } else {
        if (!watch_folder(w, &w->nodes[way->at]) ||
            (way->at = find_node(w, way->at, name, len)) < 0)
            return -1;
        if (w->nodes[way->at].kind == LINK)
            return follow(w, way, name + len) ? 1 : -1;
    }
    memmove(way->rest, name + len, strlen(name + len) + 1);
    return 1;
}

static bool watch_path(struct input_watch *w, const char *path, enum lookup what)
{
    struct way way = {.at = ROOT};
    int more;
    if (strlen(path) >= PATH_MAX)
        return false;
    memcpy(way.rest, path, strlen(path) + 1);
    while ((more = step(w, &way)) > 0)
        ;
    bool reached = !way.rest[strspn(way.rest, "/")];
    return more == 0 && (what == LOOKUP_NAME || !reached ||
                         watch_whole(w, &w->nodes[way.at], what == LOOKUP_CONTENTS));
}

static bool watch_all(struct input_watch *w, const struct buf *paths)
{
    for (size_t at = 0; at < paths->n; at += strlen(paths->s + at) + 1)
        if (!watch_path(w, paths->s + at + 1, (enum lookup)paths->s[at]))
            return false;
    return true;
}

/* ---- what happened ---- */

static bool counts(const struct input_watch *w, const struct inotify_event *e)
{
    if (!e->len || (e->mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT)))
        return true;
    for (size_t i = 0; i < w->n; i++) {
        const struct node *n = &w->nodes[i];
        if (n->watch == e->wd && n->whole)
            return true;
        if (i != ROOT && w->nodes[n->parent].watch == e->wd && strcmp(n->name, e->name) == 0)
            return true;
    }
    return false;
}

static bool had_events(const struct input_watch *w)
{
    _Alignas(struct inotify_event) char bytes[4096];
    ssize_t n;
    while ((n = read(w->events, bytes, sizeof(bytes))) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const void *)(bytes + at);
            if (counts(w, e))
                return true;
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    return n == 0 || errno != EAGAIN;
}

static bool is_same(const struct node *n)
{
    struct stat st;
    if (n->kind != FOLDER && n->kind != OTHER)
        return true; /* it cannot change without an event */
    if (lstat(n->path, &st) < 0)
        return false;
    const struct facts now = facts_of(&st, n->whole);
    return memcmp(&now, &n->facts, sizeof(now)) == 0;
}

bool input_watch_is_quiet(struct input_watch *w)
{
    if (!w || w->changed)
        return false;
    w->changed = had_events(w);
    for (size_t i = 0; i < w->n && !w->changed; i++)
        w->changed = !is_same(&w->nodes[i]);
    return !w->changed;
}

/* ---- beginning and end ---- */

void input_watch_free(struct input_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++) {
        free(w->nodes[i].name);
        free(w->nodes[i].path);
    }
    if (w->events >= 0)
        close(w->events);
    free(w);
}

static struct input_watch *watch_new(void)
{
    struct input_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    w->n = 1;
    w->nodes[ROOT].path = strdup("/");
    if (w->events >= 0 && w->nodes[ROOT].path && look_at(&w->nodes[ROOT]))
        return w;
    input_watch_free(w);
    return NULL;
}

struct input_watch *input_watch_make(bool (*look)(void *arg), void *arg, bool *same)
{
    struct lookups seen;
    *same = lookups_note(look, arg, &seen);
    struct input_watch *w = *same && seen.complete ? watch_new() : NULL;
    bool all = w && watch_all(w, &seen.paths);
    buf_free(&seen.paths);
    if (all)
        *same = look(arg); /* nothing has changed before it was watched */
    if (all && *same)
        return w;
    input_watch_free(w);
    return NULL;
}
