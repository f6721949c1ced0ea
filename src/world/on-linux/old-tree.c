/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A folder that is gone has one row, whatever was in it. What must be known about its contents is
 * found by walking the old one.
 *
 * Names that are in no row and in no such folder keep the old content of a file that has changed:
 * those that the judge could not copy with the others (kernel/judge/link-set.c), and those in no
 * place.
 */

#include "world/on-linux/old-tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "world/on-linux/upper.h"

enum { NAMES_MOST = 1000000, DEPTH_MOST = 256 };

typedef void old_tree_fn(void *arg, const struct stat *st);

struct old_walk {
    old_tree_fn *fn;
    void *arg;
    size_t names;
};

static void walk_tree(struct old_walk *k, int above, const char *name, int depth)
{
    struct stat st;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    OWN(dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; d && k->names < NAMES_MOST && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        k->names++;
        k->fn(k->arg, &st);
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
            walk_tree(k, dirfd(d), e->d_name, depth + 1);
    }
}

/* Calls fn for everything in a folder that was removed or replaced, as far as it can be read. */
static void each_old(const struct world *w, const struct change *c, old_tree_fn *fn, void *arg)
{
    struct old_walk k = {.fn = fn, .arg = arg};
    const struct world_place *p = &w->places[c->place];
    const char *name;
    OWN(fd) int above = beneath_above(c->old_since ? p->since : p->lower, c->path, &name);
    if (above >= 0)
        walk_tree(&k, above, name, 0);
}

/* Whether a change takes away a folder with what is in it. */
static bool takes_folder(const struct change *c)
{
    return (c->kind == CHANGE_REMOVED || c->kind == CHANGE_CHANGED) && S_ISDIR(c->old_mode);
}

/* ---- counting ---- */

struct count {
    size_t files, folders;
    uint64_t bytes;
};

static void count_one(void *arg, const struct stat *st)
{
    struct count *n = arg;
    n->folders += S_ISDIR(st->st_mode) != 0;
    n->files += !S_ISDIR(st->st_mode);
    n->bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
}

void change_count_old(const struct world *w, const struct change *c, size_t *files, size_t *folders,
                      uint64_t *bytes)
{
    struct count n = {0};
    each_old(w, c, count_one, &n);
    *files += n.files;
    *folders += n.folders;
    *bytes += n.bytes;
}

/* ---- files with several names ---- */

/* One old file with several names, and how many of them are in the list. */
struct old_file {
    uint16_t place;
    uint64_t ino;
    uint32_t links, listed;
};

struct old_files {
    struct old_file *at;
    size_t n;
    uint16_t place; /* that is being walked */
};

static int by_file(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

static struct old_file *find_file(const struct old_files *f, uint16_t place, uint64_t ino)
{
    const struct old_file key = {.place = place, .ino = ino};
    return f->n ? bsearch(&key, f->at, f->n, sizeof(key), by_file) : NULL;
}

static void count_name(void *arg, const struct stat *st)
{
    struct old_files *f = arg;
    struct old_file *one =
        S_ISREG(st->st_mode) && st->st_nlink > 1 ? find_file(f, f->place, st->st_ino) : NULL;
    if (one)
        one->listed++;
}

/* Those of rows, each once. */
static void list_files(const struct changes *c, struct old_files *f)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].old_links > 1)
            f->at[f->n++] =
                (struct old_file){c->at[i].place, c->at[i].old_ino, c->at[i].old_links, 1};
    if (f->n)
        qsort(f->at, f->n, sizeof(*f->at), by_file);
    for (size_t i = 0; i < f->n; i++)
        if (n && by_file(&f->at[n - 1], &f->at[i]) == 0)
            f->at[n - 1].listed++;
        else
            f->at[n++] = f->at[i];
    f->n = n;
}

void split_find(const struct world *w, struct changes *c)
{
    OWN(mem) struct old_file *list = calloc(c->n + 1, sizeof(*list));
    struct old_files f = {.at = list};
    if (list)
        list_files(c, &f);
    for (size_t i = 0; f.n && i < c->n; i++) {
        f.place = c->at[i].place;
        if (takes_folder(&c->at[i]))
            each_old(w, &c->at[i], count_name, &f);
    }
    for (size_t i = 0; i < c->n; i++) {
        struct change *one = &c->at[i];
        const struct old_file *old =
            one->old_links > 1 ? find_file(&f, one->place, one->old_ino) : NULL;
        if (old && old->listed < old->links && one->kind == CHANGE_CHANGED &&
            S_ISREG(one->new_mode))
            one->marks |= MARK_SPLIT;
    }
}
