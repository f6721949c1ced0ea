/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The changes of a world as rows: a sign, the path, what is different, and marks. */

#include "cli/try/world-show.h"

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

static void put_size(struct buf *out, uint64_t n)
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
    if (c->marks & MARK_PROTECTED)
        buf_fmt(out, "  [protected: %s]", protected_classes[c->protected].name);
}

static void put_sizes(const struct change *c, struct buf *out)
{
    if (c->kind != CHANGE_ADDED && S_ISREG(c->old_mode)) {
        put_size(out, c->old_size);
        if (c->kind == CHANGE_CHANGED && (c->differs & DIFFERS_CONTENT) && S_ISREG(c->new_mode)) {
            buf_str(out, " → ");
            put_size(out, c->new_size);
        }
    } else if (S_ISREG(c->new_mode)) {
        put_size(out, c->new_size);
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

static void put_row(const struct world *w, const struct change *c, size_t files, uint64_t bytes,
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
    if (files) {
        buf_fmt(out, "%zu file%s, ", files, plural(files));
        put_size(out, bytes);
    } else {
        put_sizes(c, out);
    }
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
            put_row(w, &c->at[i], 0, 0, out);
}

/* ---- the summary ---- */

static bool is_below(const struct change *c, const struct change *folder)
{
    size_t n = strlen(folder->path);
    return c->place == folder->place && strncmp(c->path, folder->path, n) == 0 && c->path[n] == '/';
}

/* A row for a new folder stands for what is in it. */
static size_t count_inside(const struct changes *c, size_t i, size_t *files, uint64_t *bytes)
{
    size_t rows = 1;
    *files = 0;
    *bytes = 0;
    for (; i + rows < c->n && is_below(&c->at[i + rows], &c->at[i]); rows++) {
        *files += !S_ISDIR(c->at[i + rows].new_mode);
        *bytes += c->at[i + rows].new_size;
    }
    return rows;
}

static size_t put_rows(const struct world *w, const struct changes *c, bool marked, size_t most,
                       struct buf *out)
{
    size_t shown = 0, files, rows;
    uint64_t bytes;
    for (size_t i = 0; i < c->n; i += rows) {
        const struct change *one = &c->at[i];
        bool whole = one->kind != CHANGE_FOLDER && S_ISDIR(one->new_mode);
        rows = 1;
        files = 0;
        bytes = 0;
        if (whole && !marked)
            rows = count_inside(c, i, &files, &bytes);
        if (!change_is_shown(one) || (one->marks != 0) != marked)
            continue;
        if (!most || shown < most)
            put_row(w, one, files, bytes, out);
        shown++;
    }
    return shown;
}

static void put_totals(const struct world *w, const struct changes *c, struct buf *out)
{
    size_t n[3] = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct change *one = &c->at[i];
        bool folder = one->kind != CHANGE_REMOVED && S_ISDIR(one->new_mode);
        if (change_is_shown(one) && !folder)
            n[one->kind == CHANGE_FOLDER ? CHANGE_CHANGED : one->kind]++;
    }
    buf_fmt(out, "%zu added, %zu changed, %zu removed", n[0], n[1], n[2]);
    if (w->nplaces == 1) {
        buf_str(out, " in ");
        buf_safe(out, w->places[0].path, strlen(w->places[0].path));
    }
    buf_chr(out, '\n');
}

void world_show_summary(const struct world *w, const struct changes *c, size_t most,
                        struct buf *out)
{
    put_totals(w, c, out);
    size_t marked = put_rows(w, c, true, most, out);
    size_t left = !most ? 0 : marked < most ? most - marked : 1;
    size_t rest = put_rows(w, c, false, left, out);
    size_t shown =
        !most ? marked + rest : (marked < most ? marked : most) + (rest < left ? rest : left);
    if (shown < marked + rest)
        buf_fmt(out, "    and %zu more\n", marked + rest - shown);
}
