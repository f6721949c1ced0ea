/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Walks the upper side of each place, and compares what it finds with the real folder. Folders wait
 * in a list instead of on the stack, and are opened by their path from the top, so neither depth
 * nor the number of descriptors matters. What has a longer path than the kernel takes is left out.
 */

#include "world/changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "vocab/protected-classes.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/moves.h"
#include "world/on-linux/old-side.h"
#include "world/on-linux/old-tree.h"
#include "world/on-linux/upper.h"

static const size_t MEMORY_MOST = (size_t)3 << 30;
enum { FOLDERS_FIRST = 256, BLOCK = 64 << 10 };

struct folder {
    const char *path;
    bool merged; /* it shows what is in the real one as well */
};

struct walk {
    const struct world *w;
    struct changes *out;
    world_classify_fn *classify;
    void *arg;
    uint16_t place;
    struct folder *waiting;
    size_t n, cap;
};

/* The entry that is being looked at. */
struct entry {
    const char *name, *path;
    int upper, lower; /* the folders it is in; lower: -1 if the real one does not count */
    const struct old_side *olds;
    struct stat now, old;
    bool exists; /* old does */
};

/* ---- the list ---- */

struct change *changes_add(struct changes *c)
{
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 64;
        struct change *more =
            cap * sizeof(*more) > MEMORY_MOST ? NULL : realloc(c->at, cap * sizeof(*more));
        if (!more)
            return NULL;
        c->at = more;
        c->cap = cap;
    }
    struct change *one = &c->at[c->n++];
    *one = (struct change){.protected = PROTECTED_NO_CLASS};
    return one;
}

static int push(struct walk *k, const char *path, bool merged)
{
    if (k->n == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : FOLDERS_FIRST;
        struct folder *more = realloc(k->waiting, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        k->waiting = more;
        k->cap = cap;
    }
    k->waiting[k->n++] = (struct folder){path, merged};
    return 0;
}

/* ---- comparing ---- */

bool same_bytes(int one, int other)
{
    OWN(mem) char *room = malloc((size_t)BLOCK * 2);
    for (off_t at = 0; room;) {
        ssize_t a = pread(one, room, BLOCK, at), b = pread(other, room + BLOCK, BLOCK, at);
        if (a != b || a < 0 || memcmp(room, room + BLOCK, (size_t)a) != 0)
            return false;
        if (a == 0)
            return true;
        at += a;
    }
    return false;
}

static bool same_target(const struct entry *e)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t na = readlinkat(e->upper, e->name, a, sizeof(a));
    ssize_t nb = readlinkat(e->lower, e->name, b, sizeof(b));
    return na == nb && na >= 0 && memcmp(a, b, (size_t)na) == 0;
}

static bool same_content(const struct entry *e)
{
    const int how = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    if (S_ISDIR(e->now.st_mode))
        return true;
    if (S_ISLNK(e->now.st_mode))
        return same_target(e);
    if (e->now.st_size != e->old.st_size)
        return false;
    OWN(fd) int one = openat(e->upper, e->name, how);
    OWN(fd) int other = openat(e->lower, e->name, how);
    return one >= 0 && other >= 0 && same_bytes(one, other);
}

static bool same_attributes(const struct entry *e)
{
    const int how = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    if (S_ISLNK(e->now.st_mode))
        return true;
    OWN(fd) int one = openat(e->upper, e->name, how);
    OWN(fd) int other = openat(e->lower, e->name, how);
    return one >= 0 && other >= 0 && xattrs_equal(one, other);
}

static uint8_t compare(const struct entry *e)
{
    const struct stat *a = &e->now, *b = &e->old;
    if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
        return DIFFERS_TYPE | DIFFERS_CONTENT;
    bool linked = S_ISREG(a->st_mode) && a->st_nlink > 1; /* a layer's copy has one name at first */
    bool timed = a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
    return (uint8_t)((same_content(e) ? 0 : DIFFERS_CONTENT) |
                     (a->st_mode == b->st_mode ? 0 : DIFFERS_MODE) |
                     (a->st_uid == b->st_uid && a->st_gid == b->st_gid ? 0 : DIFFERS_OWNER) |
                     (same_attributes(e) ? 0 : DIFFERS_XATTR) | (timed ? 0 : DIFFERS_TIME) |
                     (linked ? DIFFERS_LINKS : 0));
}

/* ---- marks ---- */

/* Whether a symlink's target leaves the place, by its text. */
static bool leads_out(const struct walk *k, const struct entry *e)
{
    char target[PATH_MAX];
    long depth = 0;
    ssize_t n = readlinkat(e->upper, e->name, target, sizeof(target) - 1);
    if (n < 0)
        return true;
    target[n] = '\0';
    if (target[0] == '/') {
        const char *place = k->w->places[k->place].path;
        size_t len = strlen(place);
        return strncmp(target, place, len) != 0 || (target[len] && target[len] != '/') ||
               strstr(target, "/..");
    }
    for (const char *c = e->path; *c; c++)
        depth += *c == '/';
    for (char *save, *part = strtok_r(target, "/", &save); part; part = strtok_r(NULL, "/", &save))
        if (strcmp(part, "..") == 0 && --depth < 0)
            return true;
        else if (strcmp(part, "..") != 0 && strcmp(part, ".") != 0)
            depth++;
    return false;
}

static void mark_class(const struct walk *k, struct change *c)
{
    char full[PATH_MAX * 2];
    if (!k->classify)
        return;
    snprintf(full, sizeof(full), "%s%s%s", k->w->places[c->place].path, *c->path ? "/" : "",
             c->path);
    unsigned class = k->classify(k->arg, full, c);
    if (class == WORLD_PLAIN)
        return;
    c->protected = (uint8_t) class;
    c->marks |= MARK_PROTECTED;
}

static void mark(const struct walk *k, const struct entry *e, struct change *c)
{
    mode_t now = c->kind == CHANGE_REMOVED ? 0 : e->now.st_mode;
    mode_t was = e->exists && S_ISREG(e->old.st_mode) ? e->old.st_mode : 0;
    if (S_ISREG(now) && (now & 0111) && !(was & 0111))
        c->marks |= MARK_EXECUTABLE;
    if (S_ISREG(now) && (now & 06000 & ~was))
        c->marks |= MARK_SET_ID;
    if (S_ISLNK(now) && leads_out(k, e))
        c->marks |= MARK_LINK_OUT;
    if (c->kind != CHANGE_FOLDER) /* else it counts only if it differs itself */
        mark_class(k, c);
}

/* ---- one entry ---- */

static struct change *note(struct walk *k, const struct entry *e, enum change_kind kind)
{
    struct change *c = changes_add(k->out);
    if (!c)
        return NULL;
    c->path = e->path;
    c->place = k->place;
    c->kind = (uint8_t)kind;
    c->root = e->lower >= 0;
    if (kind != CHANGE_REMOVED) {
        c->new_mode = e->now.st_mode;
        c->new_size = (uint64_t)e->now.st_size;
        c->links = (uint32_t)e->now.st_nlink;
        c->ino = e->now.st_ino;
        c->copied = upper_origin(e->upper, e->name, c->origin);
    }
    if (e->exists) {
        c->old_mode = e->old.st_mode;
        c->old_size = (uint64_t)e->old.st_size;
        c->old_ino = e->old.st_ino;
        c->old_links = S_ISREG(e->old.st_mode) ? (uint32_t)e->old.st_nlink : 0;
    }
    mark(k, e, c);
    return c;
}

static int note_left_out(struct walk *k, const struct entry *e)
{
    struct change *c = note(k, e, CHANGE_ADDED);
    if (!c)
        return -ENOMEM;
    c->root = false;
    c->marks |= MARK_LEFT_OUT;
    k->out->left_out++;
    return 0;
}

static void compare_folder(const struct walk *k, const struct entry *e, struct change *c)
{
    c->differs = compare(e);
    if (c->differs)
        mark_class(k, c);
}

static int see_folder(struct walk *k, const struct entry *e)
{
    OWN(fd) int fd = openat(e->upper, e->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool merged = e->exists && S_ISDIR(e->old.st_mode) && fd >= 0 && !upper_is_opaque(fd);
    struct change *c = note(k, e,
                            merged      ? CHANGE_FOLDER
                            : e->exists ? CHANGE_CHANGED
                                        : CHANGE_ADDED);
    if (!c)
        return -ENOMEM;
    if (merged)
        compare_folder(k, e, c);
    else if (e->exists)
        c->differs = DIFFERS_CONTENT | (S_ISDIR(e->old.st_mode) ? 0 : DIFFERS_TYPE);
    return push(k, e->path, merged);
}

static int see_file(struct walk *k, const struct entry *e)
{
    uint8_t differs = e->exists ? compare(e) : 0;
    if (e->exists && !differs)
        return 0;
    struct change *c = note(k, e, e->exists ? CHANGE_CHANGED : CHANGE_ADDED);
    if (!c)
        return -ENOMEM;
    c->differs = differs;
    return 0;
}

static int see(struct walk *k, struct entry *e)
{
    if (fstatat(e->upper, e->name, &e->now, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    int found = old_find(e->olds, e->name, &e->old);
    e->exists = found >= 0;
    e->lower = e->olds->n ? e->olds->fds[e->exists ? found : 0] : -1;
    if (upper_is_whiteout(e->upper, e->name, &e->now))
        return !e->exists || note(k, e, CHANGE_REMOVED) ? 0 : -ENOMEM;
    if (S_ISDIR(e->now.st_mode))
        return see_folder(k, e);
    if (S_ISREG(e->now.st_mode) || S_ISLNK(e->now.st_mode))
        return see_file(k, e);
    return note_left_out(k, e);
}

/* ---- folders ---- */

/* NULL: it is too long, or memory is short. */
static const char *join(struct walk *k, const char *folder, const char *name)
{
    char path[PATH_MAX];
    size_t a = strlen(folder), b = strlen(name);
    if (a + b + 2 + strlen(k->w->places[k->place].path) >= PATH_MAX)
        return NULL;
    memcpy(path, folder, a);
    path[a] = '/';
    memcpy(path + a + (a > 0), name, b);
    return arena_strndup(&k->out->arena, path, a + (a > 0) + b);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int see_entries(struct walk *k, const struct folder *f, DIR *d, const struct old_side *olds)
{
    for (struct dirent *one; (one = readdir(d));) {
        struct entry e = {.name = one->d_name, .upper = dirfd(d), .olds = olds};
        if (is_dots(one->d_name))
            continue;
        e.path = join(k, f->path, one->d_name);
        if (!e.path && k->out->arena.used >= MEMORY_MOST / 2)
            return -ENOMEM;
        if (!e.path) { /* its folder is marked instead */
            k->out->left_out++;
            continue;
        }
        int err = see(k, &e);
        if (err < 0)
            return err;
    }
    return 0;
}

static void mark_unreadable(struct walk *k, const char *path)
{
    for (size_t i = k->out->n; i-- > 0;)
        if (k->out->at[i].place == k->place && strcmp(k->out->at[i].path, path) == 0) {
            k->out->at[i].marks |= MARK_LEFT_OUT;
            k->out->left_out++;
            return;
        }
}

static int see_all_in(struct walk *k, const struct folder *f)
{
    const struct world_place *p = &k->w->places[k->place];
    int fd = beneath_open(p->upper, f->path, O_RDONLY | O_DIRECTORY);
    if (fd == -EACCES)
        return mark_unreadable(k, f->path), 0;
    if (fd < 0)
        return fd;
    OWN(dir) DIR *d = fdopendir(fd);
    if (!d)
        return close(fd), -ENOMEM;
    OWN(old_side) struct old_side olds = {.n = 0};
    int err = f->merged ? old_open(p, f->path, &olds) : 0;
    return err < 0 ? err : see_entries(k, f, d, &olds);
}

static int see_place(struct walk *k)
{
    const struct world_place *p = &k->w->places[k->place];
    int lower = p->nbelow ? p->below[0] : p->lower;
    struct entry top = {.name = ".", .path = "", .upper = p->upper, .lower = lower};
    if (p->lower < 0 || p->upper < 0)
        return 0;
    if (fstat(p->upper, &top.now) < 0 || fstat(lower, &top.old) < 0)
        return -errno;
    top.exists = true;
    struct change *c = note(k, &top, CHANGE_FOLDER);
    if (!c)
        return -ENOMEM;
    compare_folder(k, &top, c);
    k->n = 0;
    int err = push(k, "", true);
    while (err == 0 && k->n) {
        struct folder next = k->waiting[--k->n];
        err = see_all_in(k, &next);
    }
    return err;
}

int change_order(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : path_order(x->path, y->path);
}

int changes_read(const struct world *w, world_classify_fn *classify, void *arg, struct changes *out,
                 struct bk_err *err)
{
    *out = (struct changes){.n = 0};
    arena_init(&out->arena, MEMORY_MOST / 2);
    struct walk k = {.w = w, .out = out, .classify = classify, .arg = arg};
    int result = 0;
    for (size_t i = 0; i < w->nplaces && result == 0; i++) {
        k.place = (uint16_t)i;
        result = see_place(&k);
    }
    free(k.waiting);
    if (result < 0) {
        errno = -result;
        return err_sys(err, "cannot read the world's changes in %s", w->places[k.place].path);
    }
    if (out->n)
        qsort(out->at, out->n, sizeof(*out->at), change_order);
    split_find(w, out);
    conflicts_find(w, out);
    moves_find(w, out);
    renames_find(w, out);
    return 0;
}

void changes_free(struct changes *c)
{
    free(c->at);
    arena_free(&c->arena);
    *c = (struct changes){.n = 0};
}

static int open_old(const struct world_place *p, const struct change *c)
{
    const char *name;
    OWN(fd) int above = S_ISREG(c->old_mode) ? old_above(p, c->path, &name) : -1;
    return above < 0 ? -1 : openat(above, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
}

static int open_side(int folder, const struct change *c, uint32_t mode)
{
    if (!S_ISREG(mode) || folder < 0)
        return -1;
    int fd = beneath_open(folder, c->path, O_RDONLY | O_NONBLOCK);
    return fd < 0 ? -1 : fd;
}

int change_open_old(const struct world *w, const struct change *c)
{
    const struct world_place *p = &w->places[c->place];
    return c->old_since ? open_side(p->since, c, c->old_mode) : open_old(p, c);
}

int change_open_new(const struct world *w, const struct change *c)
{
    const struct world_place *p = &w->places[c->place];
    const struct change as_old = {.path = c->path, .old_mode = c->new_mode};
    return c->new_real ? open_old(p, &as_old) : open_side(p->upper, c, c->new_mode);
}

bool change_found(const struct world *w, uint16_t place, const char *path)
{
    struct stat st;
    const char *name;
    OWN(fd) int above = old_above(&w->places[place], path, &name);
    return above >= 0 && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool change_finds(const struct world *w, uint16_t place, const char *path, struct stat *st)
{
    const char *name;
    int upper = w->places[place].upper;
    OWN(fd) int above = upper < 0 ? -1 : beneath_above(upper, path, &name);
    bool is = above >= 0 && fstatat(above, name, st, AT_SYMLINK_NOFOLLOW) == 0;
    if (is && !upper_is_whiteout(above, name, st))
        return true;
    return change_found(w, place, path);
}
