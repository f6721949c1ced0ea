/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Choose, prepare, commit. Until the journal says "ready" nothing outside has changed except that
 * .buckle-keep-ID exists. From then on each operation is one atomic rename. What it takes out is
 * compared with what was seen before; if it is something else, everything is undone.
 */

#include "world/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "vocab/protected-classes.h"
#include "world/on-linux/below.h"
#include "world/on-linux/conflicts.h"
#include "world/on-linux/prepared.h"
#include "world/on-linux/upper.h"

enum { NOREPLACE = 1, EXCHANGE = 2 };

struct keeping {
    struct world *w;
    struct changes *c;
    const struct keep_request *q;
    struct buf *why;
    struct ops ops;
    struct prepared prepared;
    struct undone undone;
    struct since since;
    long kept;
};

static int fail(struct bk_err *err, int error, const struct world *w, const struct change *c,
                const char *what)
{
    errno = -error;
    return err_sys(err, "%s %s/%s", what, w->places[c->place].path, c->path);
}

static void explain(struct keeping *k, const struct change *c, const char *what)
{
    if (!k->why)
        return;
    const char *place = k->w->places[c->place].path;
    buf_safe(k->why, place, strlen(place));
    buf_str(k->why, *c->path ? "/" : "");
    buf_safe(k->why, c->path, strlen(c->path));
    buf_fmt(k->why, ": %s\n", what);
}

/* ---- choosing ---- */

enum where { OUTSIDE, INSIDE, AROUND };

/* Where a row is: at or below one of the paths that are kept, or around one. */
static enum where where_is(const struct keeping *k, const struct change *c)
{
    char full[PATH_MAX * 2];
    const char *place = k->w->places[c->place].path;
    enum where found = OUTSIDE;
    if (!k->q->npaths)
        return INSIDE;
    int n = snprintf(full, sizeof(full), "%s%s%s", place, *c->path ? "/" : "", c->path);
    for (size_t i = 0; i < k->q->npaths; i++) {
        const char *path = k->q->paths[i];
        size_t len = strlen(path);
        if (strncmp(full, path, len) == 0 && (!full[len] || full[len] == '/' || len == 1))
            return INSIDE;
        if (strncmp(full, path, (size_t)n) == 0 && path[n] == '/')
            found = AROUND;
    }
    return found;
}

/* How many rows from this one on are in its folder. */
static size_t rows_of(const struct changes *c, size_t i)
{
    size_t n = 1;
    while (i + n < c->n && c->at[i + n].place == c->at[i].place &&
           path_is_below(c->at[i + n].path, c->at[i].path))
        n++;
    return n;
}

static int choose_folder(struct keeping *k, size_t i, bool inside)
{
    const struct change *c = &k->c->at[i];
    struct stat now, old;
    struct op *o = ops_add(&k->ops);
    if (!o)
        return -ENOMEM;
    *o = (struct op){.kind = OP_FOLDER,
                     .dressed = inside && (c->differs & ~DIFFERS_TIME),
                     .place = c->place,
                     .path = c->path,
                     .first = i,
                     .rows = 1};
    if (k->w->on[0])
        return 0;
    int err = beneath_stat(k->w->places[c->place].upper, c->path, &now);
    err = err < 0 ? err : beneath_stat(k->w->places[c->place].lower, c->path, &old);
    if (err < 0)
        return err;
    o->was = old.st_mtim;
    o->is = now.st_mtim;
    o->seen = old;
    return 0;
}

static int choose_one(struct keeping *k, size_t i, size_t rows)
{
    const struct change *c = &k->c->at[i];
    struct op *o = ops_add(&k->ops);
    if (!o)
        return -ENOMEM;
    *o = (struct op){.kind = c->kind == CHANGE_REMOVED ? OP_REMOVE
                             : c->old_mode             ? OP_EXCHANGE
                                                       : OP_NEW,
                     .place = c->place,
                     .path = c->path,
                     .old = c->old_ino,
                     .first = i,
                     .rows = rows};
    return 0;
}

/* Whether something is in the way of these rows. */
static bool is_refused(struct keeping *k, size_t i, size_t rows)
{
    bool refused = false;
    for (size_t r = i; r < i + rows; r++) {
        const struct change *c = &k->c->at[r];
        if (c->marks & MARK_CONFLICT)
            explain(k, c, "it has changed outside as well"), refused = true;
        if ((c->marks & MARK_PROTECTED) && change_is_shown(c) && !k->w->on[0] &&
            !(k->q->classes & 1U << c->protected)) {
            char what[128];
            if (c->protected == PROTECTED_NO_CLASS)
                snprintf(what, sizeof(what), "protected, and never kept");
            else
                snprintf(what, sizeof(what), "protected (%s)",
                         protected_classes[c->protected].name);
            explain(k, c, what), refused = true;
        }
    }
    return refused;
}

/* Rows that are not roots come with one. */
static int choose(struct keeping *k, bool *refused)
{
    for (size_t i = 0, rows; i < k->c->n; i += rows) {
        const struct change *c = &k->c->at[i];
        enum where where = where_is(k, c);
        bool folder = c->kind == CHANGE_FOLDER;
        rows = folder ? 1 : rows_of(k->c, i);
        if (!folder && where == AROUND)
            explain(k, c, "it is new as a whole, and can only be kept as a whole"), *refused = true;
        if (folder ? where == OUTSIDE : where != INSIDE || !c->root)
            continue;
        if (where == INSIDE)
            *refused |= is_refused(k, i, rows);
        int err = folder ? choose_folder(k, i, where == INSIDE) : choose_one(k, i, rows);
        if (err < 0)
            return err;
        if (!folder || (where == INSIDE && change_is_shown(c)))
            k->kept += (long)rows;
    }
    return 0;
}

/* ---- committing ---- */

/* The real file right before: it must be the one that was compared, and unchanged. */
static bool see_old(struct keeping *k, struct op *o)
{
    const char *name;
    OWN(fd) int above = beneath_above(k->w->places[o->place].lower, o->path, &name);
    if (above < 0)
        return false;
    bool exists = fstatat(above, name, &o->seen, AT_SYMLINK_NOFOLLOW) == 0;
    if (!o->old)
        return !exists;
    return exists && o->seen.st_ino == o->old && !conflicts_in_tree(above, name, &k->since, false);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* What came out must be what was seen. */
static bool is_what_was_seen(const struct keeping *k, const struct op *o, int staging,
                             const char *as)
{
    struct stat st;
    if (fstatat(staging, as, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (S_ISDIR(st.st_mode))
        return st.st_ino == o->seen.st_ino && !conflicts_in_tree(staging, as, &k->since, true);
    return same_file(&st, &o->seen);
}

static int commit_one(struct keeping *k, const struct op *o, size_t i)
{
    char as[OP_NAME];
    const char *name;
    int staging = k->prepared.folders[o->place];
    op_name(i, as);
    OWN(fd) int above = beneath_above(k->w->places[o->place].lower, o->path, &name);
    if (above < 0)
        return above;
    if (world_keep_step)
        world_keep_step();
    if (o->kind == OP_NEW)
        return syscall(SYS_renameat2, staging, as, above, name, NOREPLACE) < 0 ? -errno : 0;
    long moved = o->kind == OP_REMOVE ? syscall(SYS_renameat2, above, name, staging, as, NOREPLACE)
                                      : syscall(SYS_renameat2, staging, as, above, name, EXCHANGE);
    if (moved < 0)
        return -errno;
    return is_what_was_seen(k, o, staging, as) ? 0 : -EBUSY;
}

static int commit_each(struct keeping *k, bool trees, struct bk_err *err)
{
    for (size_t i = 0; i < k->ops.n; i++) {
        const struct op *o = &k->ops.at[i];
        if (o->kind == OP_FOLDER || trees != (o->old && S_ISDIR(o->seen.st_mode)))
            continue;
        int error = commit_one(k, o, i);
        if (error == -EEXIST || error == -EBUSY || error == -ENOENT) {
            explain(k, &k->c->at[o->first], "it has changed outside meanwhile");
            return err_set(err, BK_E_INPUT, "nothing was kept: files have changed outside");
        }
        if (error < 0)
            return fail(err, error, k->w, &k->c->at[o->first],
                        "nothing was kept: cannot put into place");
    }
    return 0;
}

/* Moving a file gives it a later ctime, by which a folder that has another name of it would look
 * changed. So folders come first: moving them leaves the files in them as they are. */
static int commit(struct keeping *k, struct bk_err *err)
{
    return commit_each(k, true, err) < 0 ? -1 : commit_each(k, false, err);
}

static int prepare_all(struct keeping *k, struct bk_err *err)
{
    for (size_t i = 0; i < k->ops.n; i++) {
        struct op *o = &k->ops.at[i];
        size_t at = o->first;
        if (o->kind != OP_FOLDER && !see_old(k, o)) {
            explain(k, &k->c->at[at], "it has changed outside as well");
            return err_set(err, BK_E_INPUT, "nothing was kept: files have changed outside");
        }
        int error = prepare_op(&k->prepared, o, i, &at);
        if (error < 0)
            return fail(err, error, k->w, &k->c->at[at], "nothing was kept: cannot copy");
    }
    return 0;
}

static int sync_places(const struct keeping *k, bool elsewhere)
{
    struct stat state, st;
    if (fstat(k->w->fd, &state) < 0)
        return -errno;
    for (size_t i = 0; i < k->w->nplaces; i++) {
        int fd = k->prepared.folders[i];
        if (fd < 0 || (elsewhere && fstat(fd, &st) == 0 && st.st_dev == state.st_dev))
            continue;
        if (syncfs(fd) < 0)
            return -errno;
    }
    return 0;
}

/* Everything that can be undone. */
static int perform(struct keeping *k, struct bk_err *err)
{
    if (prepare_all(k, err) < 0)
        return -1;
    int error = sync_places(k, false);
    error = error < 0 ? error : journal_write(k->w, &k->ops, true);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "nothing was kept: cannot write the journal");
    }
    if (commit(k, err) < 0)
        return -1;
    error = sync_places(k, true);
    error = error < 0 ? error : journal_done(k->w);
    errno = -error;
    return error < 0 ? err_sys(err, "nothing was kept: cannot write the journal") : 0;
}

static long keep(struct keeping *k, struct bk_err *err)
{
    bool refused = false;
    int error = choose(k, &refused);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "cannot list what to keep");
    }
    if (refused)
        return err_set(err, BK_E_INPUT, "nothing was kept");
    if (k->kept == 0 && k->q->npaths)
        return err_set(err, BK_E_INPUT, "nothing has changed there");
    if (k->w->on[0] && k->q->npaths)
        return err_set(err, BK_E_INPUT, "a world on top of another one is kept as a whole");
    if (k->w->on[0])
        return world_keep_below(k->w, k->c, err);
    k->ops.whole = k->q->npaths == 0;
    error = journal_write(k->w, &k->ops, false);
    if (error < 0) {
        errno = -error;
        return err_sys(err, "nothing was kept: cannot write the journal");
    }
    if (perform(k, err) < 0) {
        journal_undo(k->w, &k->ops);
        return -1;
    }
    journal_finish(k->w, &k->ops);
    return k->kept;
}

long world_keep(struct world *w, struct changes *c, const struct keep_request *q, struct buf *why,
                struct bk_err *err)
{
    struct keeping k = {.w = w, .c = c, .q = q, .why = why};
    undone_read(w, &k.undone);
    k.since = (struct since){w->begun, &k.undone};
    prepare_start(&k.prepared, w, c);
    long kept = keep(&k, err);
    prepare_end(&k.prepared);
    undone_free(&k.undone);
    free(k.ops.at);
    return kept;
}
