/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The changes of a world as rows: a sign, the path, what is different, and marks. */

#include "cli/try/world-show.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "vocab/protected-classes.h"

enum { PATH_WIDTH = 44 };

void world_path(const struct world *w, const struct change *c, struct buf *out)
{
    const char *place = w->places[c->place].path;
    buf_safe(out, place, strlen(place));
    buf_str(out, *c->path ? "/" : "");
    buf_safe(out, c->path, strlen(c->path));
}

bool world_has_changes(const struct changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (change_is_shown(&c->at[i]))
            return true;
    return false;
}

/* ---- one row ---- */

void world_put_size(struct buf *out, uint64_t n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double size = (double)n;
    size_t unit = 0;
    for (; size >= 1000 && unit < 4; unit++)
        size /= 1000;
    buf_fmt(out, unit && size < 10 ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

static char sign_of(const struct change *c)
{
    if (c->from)
        return '>';
    if (c->kind == CHANGE_ADDED)
        return '+';
    return c->kind == CHANGE_REMOVED ? '-' : '~';
}

static void put_marks(const struct change *c, struct buf *out)
{
    static const struct {
        unsigned mark;
        const char *words;
    } marks[] = {{MARK_EXECUTABLE, "executable"},
                 {MARK_SET_ID, "set-id"},
                 {MARK_LINK_OUT, "leads out of the folder"},
                 {MARK_SPLIT, "other names of the file keep the old content"},
                 {MARK_LEFT_OUT, "cannot be kept"},
                 {MARK_CONFLICT, "changed outside as well"}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (c->marks & marks[i].mark)
            buf_fmt(out, "  [%s]", marks[i].words);
    if ((c->marks & MARK_PROTECTED) && c->protected == PROTECTED_NO_CLASS)
        buf_str(out, "  [protected, never kept]");
    else if (c->marks & MARK_PROTECTED)
        buf_fmt(out, "  [protected: %s]", protected_classes[c->protected].name);
}

static void put_sizes(const struct change *c, struct buf *out)
{
    if (c->kind != CHANGE_ADDED && S_ISREG(c->old_mode)) {
        world_put_size(out, c->old_size);
        if (c->kind == CHANGE_CHANGED && (c->differs & DIFFERS_CONTENT) && S_ISREG(c->new_mode)) {
            buf_str(out, " → ");
            world_put_size(out, c->new_size);
        }
    } else if (S_ISREG(c->new_mode)) {
        world_put_size(out, c->new_size);
    } else if (S_ISLNK(c->new_mode)) {
        buf_str(out, "symlink");
    }
}

static void put_differences(const struct change *c, struct buf *out)
{
    if (c->kind == CHANGE_ADDED || c->kind == CHANGE_REMOVED)
        return;
    if (c->differs & DIFFERS_TYPE)
        buf_str(out, "  type");
    if (c->differs & DIFFERS_MODE)
        buf_fmt(out, "  mode %o → %o", c->old_mode & 07777, c->new_mode & 07777);
    if (c->differs & DIFFERS_OWNER)
        buf_str(out, "  owner");
    if (c->differs & DIFFERS_XATTR)
        buf_str(out, "  attributes");
    if (c->differs & DIFFERS_LINKS)
        buf_str(out, "  hard links");
    if (c->differs == DIFFERS_TIME)
        buf_str(out, "  time");
}

/* What a folder's row stands for. */
struct inside {
    size_t files, folders, executables;
    uint64_t bytes;
};

static void put_inside(const struct inside *in, struct buf *out)
{
    buf_fmt(out, "%zu file%s", in->files, plural(in->files));
    if (in->folders)
        buf_fmt(out, ", %zu folder%s", in->folders, plural(in->folders));
    buf_str(out, ", ");
    world_put_size(out, in->bytes);
    if (in->executables)
        buf_fmt(out, "  [%zu executable]", in->executables);
}

static void put_row(const struct world *w, const struct change *c, const struct inside *in,
                    struct buf *out)
{
    size_t start;
    bool folder = S_ISDIR(c->kind == CHANGE_REMOVED ? c->old_mode : c->new_mode);
    buf_fmt(out, "  %c ", sign_of(c));
    start = out->n;
    if (w->nplaces > 1)
        world_path(w, c, out);
    else
        buf_safe(out, *c->path ? c->path : ".", strlen(*c->path ? c->path : "."));
    buf_str(out, folder ? "/" : "");
    size_t width = out->n - start;
    buf_fmt(out, "%*s  ", width < PATH_WIDTH ? (int)(PATH_WIDTH - width) : 0, "");
    if (in && (in->files || in->folders))
        put_inside(in, out);
    else
        put_sizes(c, out);
    if (c->from) {
        buf_str(out, "  was ");
        buf_safe(out, c->from, strlen(c->from));
    }
    put_differences(c, out);
    put_marks(c, out);
    while (out->n && out->s[out->n - 1] == ' ')
        out->s[--out->n] = '\0';
    buf_chr(out, '\n');
}

void world_show_all(const struct world *w, const struct changes *c, struct buf *out)
{
    for (size_t i = 0; i < c->n; i++)
        if (change_is_shown(&c->at[i]))
            put_row(w, &c->at[i], NULL, out);
}

/* ---- the summary ---- */

/* What a person looks at first: what is marked, then what happened to files that were there, then
 * what is new. */
enum rank { RANK_MARKED, RANK_TOUCHED, RANK_NEW, RANKS };

static const unsigned weighty =
    MARK_SET_ID | MARK_LINK_OUT | MARK_LEFT_OUT | MARK_CONFLICT | MARK_SPLIT | MARK_PROTECTED;

static bool is_below(const struct change *c, const struct change *folder)
{
    size_t n = strlen(folder->path);
    return c->place == folder->place && strncmp(c->path, folder->path, n) == 0 && c->path[n] == '/';
}

/* A folder that is new as a whole: its row stands for what is in it. */
static bool is_whole(const struct change *c)
{
    return (c->kind == CHANGE_ADDED || c->kind == CHANGE_CHANGED) && S_ISDIR(c->new_mode);
}

static enum rank rank_of(const struct change *c)
{
    if (c->marks & weighty)
        return RANK_MARKED;
    return c->kind == CHANGE_ADDED && !c->from ? RANK_NEW : RANK_TOUCHED;
}

/* What is in the folder of row i. Returns how many rows that are, itself included. */
static size_t count_inside(const struct changes *c, size_t i, struct inside *in)
{
    size_t rows = 1;
    for (; i + rows < c->n && is_below(&c->at[i + rows], &c->at[i]); rows++) {
        const struct change *one = &c->at[i + rows];
        bool folder = S_ISDIR(one->new_mode);
        in->folders += folder;
        in->files += !folder;
        in->executables += (one->marks & MARK_EXECUTABLE) != 0;
        in->bytes += folder ? 0 : one->new_size;
    }
    return rows;
}

/* What was in a folder that is gone. A row has no rows for that. */
static void count_removed(const struct world *w, const struct change *c, struct inside *in)
{
    if (S_ISDIR(c->old_mode) && c->kind == CHANGE_REMOVED)
        change_count_old(w, c, &in->files, &in->folders, &in->bytes);
}

/* Prints the rows of a rank as long as there is room. Returns how many rows it has. */
static size_t put_rows(const struct world *w, const struct changes *c, enum rank rank, size_t room,
                       struct buf *out)
{
    size_t n = 0, until = 0; /* rows before this one are in a folder that has a row */
    for (size_t i = 0; i < c->n; i++) {
        const struct change *one = &c->at[i];
        struct inside in = {0};
        bool covered = i < until;
        bool wanted = change_is_shown(one) && rank_of(one) == rank;
        if (is_whole(one) && !covered)
            until = i + count_inside(c, i, &in);
        if (!wanted || (covered && rank != RANK_MARKED))
            continue;
        if (n++ >= room)
            continue;
        count_removed(w, one, &in);
        put_row(w, one, &in, out);
    }
    return n;
}

/* Counts what the rows below it show, files and folders. */
static void put_totals(const struct world *w, const struct changes *c, struct buf *out)
{
    size_t n[3] = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct change *one = &c->at[i];
        struct inside in = {0};
        count_removed(w, one, &in);
        if (change_is_shown(one))
            n[one->kind == CHANGE_FOLDER ? CHANGE_CHANGED : one->kind] += 1 + in.files + in.folders;
    }
    buf_fmt(out, "%zu added, %zu changed, %zu removed", n[CHANGE_ADDED], n[CHANGE_CHANGED],
            n[CHANGE_REMOVED]);
    if (w->nplaces == 1) {
        buf_str(out, " in ");
        buf_safe(out, w->places[0].path, strlen(w->places[0].path));
    }
    buf_chr(out, '\n');
}

void world_show_summary(const struct world *w, const struct changes *c, size_t most,
                        struct buf *out)
{
    size_t all = 0, room = most ? most : SIZE_MAX;
    put_totals(w, c, out);
    for (enum rank rank = RANK_MARKED; rank < RANKS; rank++) {
        size_t n = put_rows(w, c, rank, room, out);
        all += n;
        room -= n < room ? n : room;
    }
    if (most && all > most)
        buf_fmt(out, "    and %zu more\n", all - most);
    if (world_is_unlisted(w))
        buf_str(out, "    writes that were denied outside are not listed; with --report text they "
                     "are\n");
}
