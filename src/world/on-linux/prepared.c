/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The rows of the list are sorted, so that each folder comes before what is in it: making them in
 * this order needs no recursion. What folders look like is set in the reverse order, because making
 * files in a folder changes its times, and its mode may forbid it.
 */

#include "world/on-linux/prepared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/copy-bytes.h"
#include "base/own.h"
#include "world/keep.h"
#include "world/on-linux/copy.h"
#include "world/on-linux/upper.h"

/* Several names of one file, by its inode number: a hash table of row numbers, each + 1. */
struct linked {
    size_t row, op;
};

void prepare_start(struct prepared *s, const struct world *w, const struct changes *c)
{
    *s = (struct prepared){.w = w, .c = c};
    for (size_t i = 0; i < WORLD_PLACES; i++)
        s->folders[i] = -1;
}

void prepare_end(struct prepared *s)
{
    for (size_t i = 0; i < WORLD_PLACES; i++)
        if (s->folders[i] >= 0)
            close(s->folders[i]);
    free(s->linked);
}

int prepare_folder(struct prepared *s, size_t place)
{
    char name[STAGING_NAME];
    if (s->folders[place] >= 0)
        return 0;
    staging_name(s->w, name);
    int lower = s->w->places[place].lower;
    if (mkdirat(lower, name, 0700) < 0)
        return -errno;
    int fd = openat(lower, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    s->folders[place] = fd;
    return fd < 0 ? -errno : 0;
}

/* ---- contents ---- */

static int copy_file(int upper, const char *name, int above, const char *as)
{
    struct stat st;
    OWN(fd) int from = openat(upper, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (from < 0 || fstat(from, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    OWN(fd) int to = openat(above, as, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    int err = copy_bytes(from, to, st.st_size);
    err = err < 0 ? err : look_copy(from, to, &st);
    return err < 0 ? err : futimens(to, times) < 0 ? -errno : 0;
}

/* ---- several names ---- */

static void row_path(const struct prepared *s, const struct op *o, size_t i, size_t row,
                     char out[PATH_MAX + OP_NAME])
{
    const char *path = s->c->at[row].path;
    snprintf(out, PATH_MAX + OP_NAME, "%zu%s", i, path + strlen(o->path));
}

static size_t slot_of(const struct prepared *s, size_t row)
{
    const struct change *c = &s->c->at[row];
    size_t at = (size_t)(c->ino * 0x9E3779B97F4A7C15ULL >> 16) & (s->cap - 1);
    while (s->linked[at].row) {
        const struct change *other = &s->c->at[s->linked[at].row - 1];
        if (other->ino == c->ino && other->place == c->place)
            break;
        at = (at + 1) & (s->cap - 1);
    }
    return at;
}

static int make_room(struct prepared *s)
{
    size_t n = 0, cap = 64;
    for (size_t i = 0; i < s->c->n; i++)
        n += s->c->at[i].links > 1;
    while (cap < n * 2)
        cap *= 2;
    s->linked = calloc(cap, sizeof(*s->linked));
    s->cap = cap;
    return s->linked ? 0 : -ENOMEM;
}

/* Gives a copy that exists already another name. Returns 1 if there was none. */
static int link_again(struct prepared *s, const struct op *ops, size_t i, size_t row, int above,
                      const char *as)
{
    char first[PATH_MAX + OP_NAME];
    const char *name;
    if (s->c->at[row].links < 2)
        return 1;
    if (!s->linked && make_room(s) < 0)
        return -ENOMEM;
    struct linked *l = &s->linked[slot_of(s, row)];
    if (!l->row) {
        *l = (struct linked){row + 1, i};
        return 1;
    }
    /* ops is operation i, and the others are before it in the same array */
    row_path(s, ops - i + l->op, l->op, l->row - 1, first);
    OWN(fd) int folder = beneath_above(s->folders[s->c->at[row].place], first, &name);
    if (folder < 0)
        return folder;
    return linkat(folder, name, above, as, 0) < 0 ? -errno : 0;
}

/* ---- one row ---- */

static bool needs_copy(int error)
{
    return error == EXDEV || error == EPERM || error == EMLINK || error == EOPNOTSUPP;
}

static int prepare_file(struct prepared *s, const struct op *o, size_t i, size_t row, int above,
                        const char *as)
{
    const struct change *c = &s->c->at[row];
    const char *name;
    struct stat st;
    OWN(fd) int upper = beneath_above(s->w->places[c->place].upper, c->path, &name);
    if (upper < 0)
        return upper;
    if (fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ino != c->ino)
        return -ESTALE;
    if (linkat(upper, name, above, as, 0) == 0)
        return upper_strip(above, as, &st), 0;
    if (!needs_copy(errno))
        return -errno;
    int linked = link_again(s, o, i, row, above, as);
    if (linked <= 0)
        return linked;
    return S_ISLNK(st.st_mode) ? copy_symlink(upper, name, above, as)
                               : copy_file(upper, name, above, as);
}

static int prepare_row(struct prepared *s, const struct op *o, size_t i, size_t row)
{
    char path[PATH_MAX + OP_NAME];
    const char *as;
    const struct change *c = &s->c->at[row];
    if (c->marks & MARK_LEFT_OUT)
        return 0;
    row_path(s, o, i, row, path);
    OWN(fd) int above = beneath_above(s->folders[c->place], path, &as);
    if (above < 0)
        return above;
    if (world_keep_step)
        world_keep_step();
    if (S_ISDIR(c->new_mode))
        return mkdirat(above, as, 0700) < 0 ? -errno : 0;
    return prepare_file(s, o, i, row, above, as);
}

static int dress_row(struct prepared *s, const struct op *o, size_t i, size_t row)
{
    char path[PATH_MAX + OP_NAME];
    const struct change *c = &s->c->at[row];
    if (!S_ISDIR(c->new_mode) || (c->marks & MARK_LEFT_OUT))
        return 0;
    row_path(s, o, i, row, path);
    OWN(fd) int from = beneath_open(s->w->places[c->place].upper, c->path, O_RDONLY | O_DIRECTORY);
    OWN(fd) int to = beneath_open(s->folders[c->place], path, O_RDONLY | O_DIRECTORY);
    return look_copy_folder(from, to);
}

static int note_inode(const struct prepared *s, struct op *o, size_t i)
{
    struct stat st;
    char as[OP_NAME];
    op_name(i, as);
    if (fstatat(s->folders[o->place], as, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    o->staged = st.st_ino;
    return 0;
}

/* A folder that stays: an empty one looks as it should. */
static int prepare_look(struct prepared *s, struct op *o, size_t i)
{
    char as[OP_NAME];
    op_name(i, as);
    if (mkdirat(s->folders[o->place], as, 0700) < 0)
        return -errno;
    return dress_row(s, o, i, o->first);
}

int prepare_op(struct prepared *s, struct op *o, size_t i, size_t *at)
{
    *at = o->first;
    if (o->kind == OP_FOLDER && !o->dressed)
        return 0;
    int err = prepare_folder(s, o->place);
    if (err < 0 || o->kind == OP_REMOVE)
        return err;
    if (o->kind == OP_FOLDER)
        return prepare_look(s, o, i);
    for (size_t k = 0; k < o->rows && err == 0; k++) {
        *at = o->first + k;
        err = prepare_row(s, o, i, *at);
    }
    for (size_t k = o->rows; k-- > 0 && err == 0;) {
        *at = o->first + k;
        err = dress_row(s, o, i, *at);
    }
    return err < 0 ? err : note_inode(s, o, i);
}
