/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules and places as text. Linux has (glob …); macOS's compiler does not, so this converts globs
 * to regular expressions as our engine does. Denied globs also cover everything below their
 * matches: denying a folder includes its contents.
 *
 * macOS has /tmp, /var and /etc under two names, and its kernel checks only the canonical one.
 * Profiles may be written on another machine, so both are written.
 */

#include <string.h>

#include "graph/regex/regex.h"
#include "settings/sbpl-int.h"

void write_section(struct writer *w, const char *title)
{
    buf_fmt(w->out, "\n; ---- %s ----\n\n", title);
}

void write_open(struct writer *w, const char *action, const char *operations)
{
    buf_fmt(w->out, "(%s %s", action, operations);
    w->origin = NULL;
}

void write_filter(struct writer *w, const char *origin, const struct buf *filter)
{
    if (origin && (!w->origin || strcmp(origin, w->origin) != 0)) {
        buf_str(w->out, "\n    ; ");
        buf_safe(w->out, origin, strlen(origin));
    }
    w->origin = origin;
    buf_str(w->out, "\n    ");
    buf_add(w->out, filter->s ? filter->s : "", filter->n);
    w->out->failed |= !buf_ok(filter);
}

void write_close(struct writer *w, const char *reason)
{
    const char *message = w->p->tag ? w->p->tag : reason;
    if (message) {
        buf_str(w->out, "\n    (with message ");
        buf_sbpl(w->out, message, strlen(message));
        buf_chr(w->out, ')');
    }
    buf_str(w->out, ")\n");
}

/* ---- names of two spellings ---- */

static bool has_twin(const struct writer *w, const char *path)
{
    static const char *const roots[] = {"/tmp", "/var", "/etc"};
    for (size_t i = 0; w->t->macos && i < sizeof(roots) / sizeof(roots[0]); i++) {
        size_t n = strlen(roots[i]);
        if (strncmp(path, roots[i], n) == 0 && (path[n] == '/' || !path[n]))
            return true;
    }
    return false;
}

/* Both of `path` and of `tail` may be NULL-free strings of any bytes. */
static void quoted(struct buf *out, const char *before, const char *path, size_t n,
                   const char *tail)
{
    struct buf whole = {0};
    buf_chr(out, ' ');
    buf_str(&whole, before);
    buf_add(&whole, path, n);
    buf_str(&whole, tail);
    buf_sbpl(out, whole.s, whole.n);
    out->failed |= !buf_ok(&whole);
    buf_free(&whole);
}

static void plain_filter(const struct writer *w, const char *form, const char *path,
                         struct buf *out)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 1 && strcmp(form, "subpath") == 0) {
        buf_str(out, "(regex #\"^/\")"); /* "/" is no subpath that ends in a name */
        return;
    }
    buf_fmt(out, "(%s", form);
    quoted(out, "", path, n, "");
    if (has_twin(w, path))
        quoted(out, "/private", path, n, "");
    buf_chr(out, ')');
}

/* ---- globs ---- */

/* [ … ] with a slash in it would span two folders, which has no meaning. */
static bool spells_set(struct arena *arena, const char *group, size_t n)
{
    if (memchr(group, '/', n))
        return false;
    const char *regex = glob_to_regex(arena, group, n);
    return n > 2 && regex && regex_check(regex, strlen(regex), NULL) == 0;
}

const char *glob_mend(struct arena *arena, const char *glob)
{
    struct buf out = {0};
    for (const char *s = glob; *s; s++) {
        const char *close = *s == '[' ? strchr(s + 1, ']') : NULL;
        if (*s != '[') {
            buf_chr(&out, *s);
        } else if (close && spells_set(arena, s, (size_t)(close - s) + 1)) {
            buf_add(&out, s, (size_t)(close - s) + 1);
            s = close;
        } else {
            buf_str(&out, "[[]");
        }
    }
    char *text = buf_ok(&out) ? arena_strndup(arena, out.s ? out.s : "", out.n) : NULL;
    buf_free(&out);
    return text;
}

size_t glob_fixed(const char *glob)
{
    size_t n = strcspn(glob, "*?[");
    if (!glob[n])
        return n;
    while (n > 0 && glob[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

static bool ends_in_all(const char *glob)
{
    size_t n = strlen(glob);
    return n >= 3 && strcmp(glob + n - 3, "/**") == 0;
}

/* A regular expression for macOS; `below` is appended. */
static int regex_value(struct writer *w, const char *before, const char *glob, bool below,
                       struct buf *out)
{
    struct buf whole = {0};
    buf_str(&whole, before);
    buf_str(&whole, glob);
    char *regex = buf_ok(&whole) ? glob_to_regex(&w->arena, whole.s, whole.n) : NULL;
    buf_free(&whole);
    if (!regex)
        return err_nomem(w->err);
    quoted(out, "", regex, strlen(regex) - 1, below ? "(/.*)?$" : "$");
    return 0;
}

static int any_glob_filter(struct writer *w, const char *given, bool below, struct buf *out)
{
    const char *glob = glob_mend(&w->arena, given);
    if (!glob)
        return err_nomem(w->err);
    below = below && !ends_in_all(glob);
    buf_str(out, w->t->macos ? "(regex" : "(glob");
    if (!w->t->macos) {
        quoted(out, "", glob, strlen(glob), "");
        if (below)
            quoted(out, "", glob, strlen(glob), "/**");
    } else if (regex_value(w, "", glob, below, out) < 0 ||
               (has_twin(w, glob) && regex_value(w, "/private", glob, below, out) < 0)) {
        return -1;
    }
    buf_chr(out, ')');
    return 0;
}

int glob_filter(struct writer *w, const char *glob, struct buf *out)
{
    return any_glob_filter(w, glob, false, out);
}

/* ---- places ---- */

int place_check(const struct place *place, struct bk_err *err)
{
    bool anywhere = place->kind == PLACE_GLOB && strncmp(place->path, "**", 2) == 0;
    if (place->path[0] == '/' || anywhere)
        return 0;
    err_set(err, BK_E_INPUT, "%.200s is not an absolute path", place->path);
    if (place->origin)
        err_hint(err, "it comes from %s", place->origin);
    return -1;
}

int denied_place_filter(struct writer *w, const struct place *place, struct buf *out)
{
    if (place->kind == PLACE_GLOB)
        return any_glob_filter(w, place->path, true, out);
    return place_filter(w, place, out);
}

int place_filter(struct writer *w, const struct place *place, struct buf *out)
{
    if (place->kind == PLACE_GLOB)
        return glob_filter(w, place->path, out);
    plain_filter(w, place->kind == PLACE_LITERAL ? "literal" : "subpath", place->path, out);
    return 0;
}

int write_places(struct writer *w, const struct places *places)
{
    for (size_t i = 0; i < places->n; i++) {
        struct buf filter = {0};
        int result = place_filter(w, &places->at[i], &filter);
        if (result == 0)
            write_filter(w, places->at[i].origin, &filter);
        buf_free(&filter);
        if (result < 0)
            return -1;
    }
    return 0;
}
