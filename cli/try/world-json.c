/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A world's changes as JSON, a line each inside one array. */

#include <string.h>

#include "cli/try/world-show.h"
#include "vocab/protected-classes.h"
#include "world/checkpoints.h"

static const char *const kinds[] = {"added", "changed", "removed", "changed"};

static void put_words(const char *key, unsigned set, const char *const *words, size_t n,
                      struct buf *out)
{
    const char *comma = "";
    buf_fmt(out, ", \"%s\": [", key);
    for (size_t i = 0; i < n; i++)
        if (set & 1U << i) {
            buf_fmt(out, "%s\"%s\"", comma, words[i]);
            comma = ", ";
        }
    buf_chr(out, ']');
}

static void put_change(const struct world *w, const struct change *c, struct buf *out)
{
    static const char *const differs[] = {"content", "mode", "owner", "attributes",
                                          "time",    "type", "links"};
    static const char *const marks[] = {"executable", "set-id",     "leads-out", "left-out",
                                        "conflict",   "split-link", "protected"};
    const char *place = w->places[c->place].path;
    buf_fmt(out, "{\"change\": \"%s\", \"place\": ", kinds[c->kind]);
    buf_json(out, place, strlen(place));
    buf_str(out, ", \"path\": ");
    buf_json(out, c->path, strlen(c->path));
    if (c->from) {
        buf_str(out, ", \"from\": ");
        buf_json(out, c->from, strlen(c->from));
    }
    if (c->old_mode)
        buf_fmt(out, ", \"oldMode\": \"%o\", \"oldSize\": %llu", c->old_mode,
                (unsigned long long)c->old_size);
    if (c->kind != CHANGE_REMOVED)
        buf_fmt(out, ", \"mode\": \"%o\", \"size\": %llu", c->new_mode,
                (unsigned long long)c->new_size);
    put_words("differs", c->differs, differs, sizeof(differs) / sizeof(differs[0]), out);
    put_words("marks", c->marks, marks, sizeof(marks) / sizeof(marks[0]), out);
    if ((c->marks & MARK_PROTECTED) && c->protected != PROTECTED_NO_CLASS)
        buf_fmt(out, ", \"class\": \"%s\"", protected_classes[c->protected].name);
    buf_chr(out, '}');
}

void world_show_json(const struct world *w, const struct changes *c, struct buf *out)
{
    const char *comma = "\n";
    buf_fmt(out, "{\"world\": \"%s\", \"begun\": %lld, \"changes\": [", w->id,
            (long long)w->begun.tv_sec);
    for (size_t i = 0; i < c->n; i++) {
        if (!change_is_shown(&c->at[i]))
            continue;
        buf_str(out, comma);
        put_change(w, &c->at[i], out);
        comma = ",\n";
    }
    buf_str(out, "\n]}\n");
}

void world_list_json(const struct world_about *list, size_t n, struct buf *out)
{
    buf_chr(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out,
                "%s{\"world\": \"%s\", \"begun\": %lld, \"used\": %s, \"size\": %llu, \"folder\": ",
                i ? ",\n" : "\n", list[i].id, (long long)list[i].begun.tv_sec,
                list[i].used ? "true" : "false", (unsigned long long)list[i].size);
        buf_json(out, list[i].cwd, strlen(list[i].cwd));
        buf_str(out, ", \"command\": ");
        const char *command = list[i].command ? list[i].command : "";
        buf_json(out, command, strlen(command));
        if (list[i].on[0])
            buf_fmt(out, ", \"on\": \"%s\"", list[i].on);
        buf_chr(out, '}');
    }
    buf_str(out, "\n]\n");
}

void world_checkpoints_json(const struct checkpoint *list, size_t n, struct buf *out)
{
    buf_chr(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_fmt(out, "%s{\"checkpoint\": %u, \"at\": %lld, \"command\": ", i ? ",\n" : "\n",
                list[i].number, (long long)list[i].at.tv_sec);
        buf_json(out, list[i].command, strlen(list[i].command));
        buf_chr(out, '}');
    }
    buf_str(out, "\n]\n");
}
