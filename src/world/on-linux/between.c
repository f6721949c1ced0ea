/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two lists against the real folder, as one list of what has changed from the first to the second.
 * Both are sorted. What is only in the second has changed since; what is only in the first is as in
 * the real folder again. Unchanged files of two checkpoints are the same file.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/upper.h"

static bool same_content(const struct world *w, const struct change *was, const struct change *is)
{
    const struct world_place *p = &w->places[is->place];
    char a[PATH_MAX], b[PATH_MAX];
    const char *name;
    if (S_ISDIR(is->new_mode) || was->ino == is->ino)
        return true;
    if (was->new_size != is->new_size)
        return false;
    if (!S_ISLNK(is->new_mode)) {
        OWN(fd) int one = beneath_open(p->since, was->path, O_RDONLY | O_NONBLOCK);
        OWN(fd) int other = beneath_open(p->upper, is->path, O_RDONLY | O_NONBLOCK);
        return one >= 0 && other >= 0 && same_bytes(one, other);
    }
    OWN(fd) int one = beneath_above(p->since, was->path, &name);
    OWN(fd) int other = beneath_above(p->upper, is->path, &name);
    ssize_t n = readlinkat(one, name, a, sizeof(a)), k = readlinkat(other, name, b, sizeof(b));
    return n >= 0 && n == k && memcmp(a, b, (size_t)n) == 0;
}

static bool exists(const struct change *c)
{
    return c->kind != CHANGE_REMOVED;
}

/* Takes what the checkpoint had as the old side. */
static void take_old(struct change *out, const struct change *was)
{
    out->old_since = exists(was);
    out->old_mode = exists(was) ? was->new_mode : 0;
    out->old_size = exists(was) ? was->new_size : 0;
    out->old_ino = exists(was) ? was->ino : 0;
}

static int add_both(const struct world *w, const struct change *was, const struct change *is,
                    struct changes *out)
{
    uint8_t differs = 0;
    if (!exists(was) && !exists(is))
        return 0;
    if (exists(was) && exists(is)) {
        bool type = (was->new_mode & S_IFMT) != (is->new_mode & S_IFMT);
        differs = type                       ? DIFFERS_TYPE | DIFFERS_CONTENT
                  : same_content(w, was, is) ? 0
                                             : DIFFERS_CONTENT;
        differs |= was->new_mode != is->new_mode ? DIFFERS_MODE : 0;
        if (!differs)
            return 0;
    }
    struct change *c = changes_add(out);
    if (!c)
        return -ENOMEM;
    *c = *is;
    take_old(c, was);
    c->differs = differs;
    c->kind = !exists(was)                                      ? CHANGE_ADDED
              : !exists(is)                                     ? CHANGE_REMOVED
              : S_ISDIR(is->new_mode) && S_ISDIR(was->new_mode) ? CHANGE_FOLDER
                                                                : CHANGE_CHANGED;
    return 0;
}

/* It is as in the real folder again. */
static int add_back(const struct change *was, struct changes *out)
{
    if (was->kind == CHANGE_FOLDER && !change_is_shown(was))
        return 0;
    struct change *c = changes_add(out);
    if (!c)
        return -ENOMEM;
    *c = *was;
    c->from = NULL;
    c->marks &= MARK_PROTECTED;
    take_old(c, was);
    c->new_real = true;
    c->new_mode = was->old_mode;
    c->new_size = was->old_size;
    c->ino = was->old_ino;
    c->kind = !exists(was) ? CHANGE_ADDED : !was->old_mode ? CHANGE_REMOVED : was->kind;
    return 0;
}

static int add_new(const struct change *is, struct changes *out)
{
    struct change *c = changes_add(out);
    if (!c)
        return -ENOMEM;
    *c = *is;
    return 0;
}

int changes_between(const struct world *w, struct changes *since, const struct changes *now,
                    struct changes *out, struct bk_err *err)
{
    size_t i = 0, k = 0;
    int error = 0;
    *out = (struct changes){.n = 0};
    arena_init(&out->arena, 1);
    while (error == 0 && (i < since->n || k < now->n)) {
        const struct change *was = i < since->n ? &since->at[i] : NULL;
        const struct change *is = k < now->n ? &now->at[k] : NULL;
        int order = !was ? 1 : !is ? -1 : change_order(was, is);
        error = order == 0  ? add_both(w, was, is, out)
                : order < 0 ? add_back(was, out)
                            : add_new(is, out);
        i += order <= 0;
        k += order >= 0;
    }
    return error < 0 ? err_nomem(err) : 0;
}
