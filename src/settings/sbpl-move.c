/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules name places by path, so moving a place or a folder above it would free it. Denied places
 * and all folders above them can be neither moved nor removed.
 *
 * Above a glob's matches is its fixed beginning. Behind that are many folders, most without
 * anything denied. On Linux the judge inspects what is moved, so they are left out. macOS does not:
 * there no folder that a beginning of the glob matches can be moved. A beginning that ends in `**`
 * would be every folder, and is left out as well: its matches are still covered after a move,
 * unless they leave the fixed beginning.
 */

#include <stdlib.h>
#include <string.h>

#include "settings/sbpl-int.h"

/* ---- collecting ---- */

struct ancestors {
    const char **at; /* plain paths; globs with an extra "*" in front */
    size_t n, cap;
};

static int add_ancestor(struct writer *w, struct ancestors *list, const char *text, size_t n)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 64;
        const char **at = arena_array(&w->arena, cap, sizeof(*at));
        if (!at)
            return err_nomem(w->err);
        if (list->n)
            memcpy(at, list->at, list->n * sizeof(*at));
        list->at = at;
        list->cap = cap;
    }
    const char *copy = arena_strndup(&w->arena, text, n);
    if (!copy)
        return err_nomem(w->err);
    list->at[list->n++] = copy;
    return 0;
}

static int collect_plain(struct writer *w, struct ancestors *list, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (size_t i = 1; i < n; i++)
        if (path[i] == '/' && add_ancestor(w, list, path, i) < 0)
            return -1;
    return 0;
}

static int collect_glob(struct writer *w, struct ancestors *list, const char *given)
{
    const char *glob = glob_mend(&w->arena, given);
    bool set = false;
    if (!glob)
        return err_nomem(w->err);
    for (size_t i = 0; glob[i]; i++) {
        set = (set || glob[i] == '[') && glob[i] != ']';
        bool end = glob[i] == '/' && !set && i > 0;
        bool all =
            i >= 2 && glob[i - 1] == '*' && glob[i - 2] == '*' && (i == 2 || glob[i - 3] == '/');
        if (!end || all)
            continue;
        bool varies = strcspn(glob, "*?[") < i;
        if (varies && !w->t->macos)
            break;
        char *text = arena_alloc(&w->arena, i + 2);
        if (!text)
            return err_nomem(w->err);
        text[0] = '*';
        memcpy(text + 1, glob, i);
        if (add_ancestor(w, list, varies ? text : glob, varies ? i + 1 : i) < 0)
            return -1;
    }
    return 0;
}

static int collect(struct writer *w, struct ancestors *list, const struct places *from)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct place *place = &from->at[i];
        int result = place->kind == PLACE_GLOB ? collect_glob(w, list, place->path)
                                               : collect_plain(w, list, place->path);
        if (result < 0)
            return -1;
    }
    return 0;
}

/* ---- writing ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int folder_filter(struct writer *w, const char *glob, struct buf *out)
{
    buf_str(out, "(require-all (vnode-type DIRECTORY) ");
    int result = glob_filter(w, glob, out);
    buf_chr(out, ')');
    return result;
}

static int write_ancestors(struct writer *w, struct ancestors *list)
{
    if (!list->n)
        return 0;
    qsort(list->at, list->n, sizeof(*list->at), by_text);
    buf_str(w->out, "; Nor can the folders that contain them.\n");
    write_open(w, "deny", "file-write-unlink");
    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->at[i];
        if (i > 0 && strcmp(text, list->at[i - 1]) == 0)
            continue;
        struct buf filter = {0};
        struct place place = {.path = text, .kind = PLACE_LITERAL};
        int result =
            text[0] == '*' ? folder_filter(w, text + 1, &filter) : place_filter(w, &place, &filter);
        if (result == 0)
            write_filter(w, NULL, &filter);
        buf_free(&filter);
        if (result < 0)
            return -1;
    }
    write_close(w, "something in it is denied, and moving it would bypass that");
    return 0;
}

/* Places that cannot be written already cannot be moved. */
static int write_unread(struct writer *w)
{
    buf_str(w->out, "; Moving an unreadable file must not make it readable.\n");
    write_open(w, "deny", w->t->macos ? "file-write-unlink file-link" : "file-write-unlink");
    for (size_t d = 0; d < w->p->deny_read.n; d++)
        if (write_denied(w, &w->reads, d) < 0)
            return -1;
    write_close(w, "reading is denied there, and moving it would bypass that");
    return 0;
}

int write_moves(struct writer *w)
{
    struct ancestors list = {0};
    if (w->p->deny_read.n && write_unread(w) < 0)
        return -1;
    if (collect(w, &list, &w->p->deny_read) < 0 || collect(w, &list, &w->p->deny_write) < 0)
        return -1;
    return write_ancestors(w, &list);
}
