/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An entry is first spelled out: one text from the root, with a mark for each byte that says
 * whether it is part of a name or of a pattern. Names up to the first pattern are then resolved on
 * disk like the kernel does, link by link, because policies use real paths. What does not exist is
 * kept as written.
 *
 * (glob …) has no quoting. Inside a pattern, a bracket of a name is written as the set [[]. A star
 * or question mark of a name cannot be written; it becomes the wildcard, which covers it: enough
 * for a denial, too much for a permission.
 */

#include "settings/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/regex/regex.h"

enum { HOPS = 40, TEXT = PATH_MAX };

enum mark { NAME, WILD, SET }; /* SET: all of "[abc]" */

struct spelled {
    char s[TEXT];
    unsigned char mark[TEXT];
    size_t n;
};

/* ---- lists ---- */

/* Room is doubled whenever the count is a power of two. */
static void *grown(struct arena *a, const void *at, size_t n, size_t size)
{
    if (n && (n & (n - 1)))
        return (void *)at;
    void *more = arena_array(a, n ? 2 * n : 1, size);
    return more && n ? memcpy(more, at, n * size) : more;
}

int places_push(struct arena *a, struct places *list, const struct place *p)
{
    struct place *at = grown(a, list->at, list->n, sizeof(*at));
    if (!at)
        return -1;
    list->at = at;
    list->at[list->n++] = *p;
    return 0;
}

int words_push(struct arena *a, struct words *list, const char *word)
{
    const char **at = grown(a, list->at, list->n, sizeof(*at));
    if (!at)
        return -1;
    list->at = at;
    list->at[list->n++] = word;
    return 0;
}

/* ---- spelling out ---- */

static int too_long(struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "the path is too long");
}

static int append_bytes(struct spelled *t, const char *s, size_t n, enum mark mark,
                        struct bk_err *err)
{
    if (n >= TEXT - t->n)
        return too_long(err);
    memcpy(t->s + t->n, s, n);
    memset(t->mark + t->n, mark, n);
    t->n += n;
    return 0;
}

static bool is_name_byte(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/* $VAR or ${VAR} at s. Returns its length; 0 for a plain dollar. */
static size_t variable(const char *s, size_t n, const char **name, size_t *len)
{
    size_t braces = n > 1 && s[1] == '{', i = 1 + braces;
    *name = s + i;
    while (i < n && is_name_byte(s[i], s + i == *name))
        i++;
    *len = (size_t)(s + i - *name);
    if (!*len || (braces && (i >= n || s[i] != '}')))
        return 0;
    return i + braces;
}

static int append_variable(const struct path_base *base, const char *name, size_t len,
                           struct spelled *t, struct bk_err *err)
{
    char key[256];
    if (len >= sizeof(key))
        return err_set(err, BK_E_INPUT, "the variable's name is too long");
    memcpy(key, name, len);
    key[len] = '\0';
    const char *value = base->getenv ? base->getenv(base->arg, key) : getenv(key);
    if (!value || !*value) {
        err_set(err, BK_E_INPUT, "the variable %s is not set", key);
        err_hint(err, "{\"path\": …, \"literal\": true} makes the dollar part of the name");
        return -1;
    }
    return append_bytes(t, value, strlen(value), NAME, err);
}

/* Whether [a-z0] at s, n bytes up to and with its bracket, spells a set. One that is empty, spans a
 * slash or runs backwards does not, and its brackets are part of a name. */
static bool spells_set(const char *s, size_t n)
{
    struct bk_err err;
    return n > 2 && !memchr(s, '/', n) && regex_check(s, n, &err) == 0;
}

static int append_bracket(const char *s, size_t n, struct spelled *t, size_t *used,
                          struct bk_err *err)
{
    const char *close = n > 1 ? memchr(s + 1, ']', n - 1) : NULL;
    size_t len = close ? (size_t)(close - s) + 1 : 0;
    *used = 1;
    if (!close || !spells_set(s, len))
        return append_bytes(t, s, 1, NAME, err);
    *used = len;
    if (len == 3 && strchr("*?[", s[1])) /* names with a bracket are quoted like this */
        return append_bytes(t, s + 1, 1, NAME, err);
    if (memchr(s, '*', len) || memchr(s, '?', len)) {
        err_set(err, BK_E_INPUT, "%.*s: a set cannot contain * or ?", (int)len, s);
        err_hint(err, "{\"path\": …, \"literal\": true} makes it part of a name");
        return -1;
    }
    return append_bytes(t, s, len, SET, err);
}

/* One step of the entry's own text. */
static int append_next(const struct path_base *base, const struct path_entry *e, size_t at,
                       struct spelled *t, size_t *used, struct bk_err *err)
{
    const char *s = e->text + at, *name;
    size_t n = e->n - at, len;
    *used = 1;
    if (!e->literal && !e->from_shell && *s == '$' &&
        (len = 0, (*used = variable(s, n, &name, &len)) != 0))
        return append_variable(base, name, len, t, err);
    *used = 1;
    if (!e->literal && *s == '[')
        return append_bracket(s, n, t, used, err);
    return append_bytes(t, s, 1, !e->literal && (*s == '*' || *s == '?') ? WILD : NAME, err);
}

static int spell(const struct path_base *base, const struct path_entry *e, struct spelled *t,
                 struct bk_err *err)
{
    size_t at = 0, used;
    t->n = 0;
    if (!e->n)
        return err_set(err, BK_E_INPUT, "the path is empty");
    if (memchr(e->text, '\0', e->n))
        return err_set(err, BK_E_INPUT, "the path contains a NUL byte");
    const char *name;
    size_t len;
    bool variable_first =
        !e->literal && !e->from_shell && *e->text == '$' && variable(e->text, e->n, &name, &len);
    if (e->text[0] == '~' && (e->n == 1 || e->text[1] == '/')) {
        if (!base->home || !*base->home)
            return err_set(err, BK_E_INPUT, "cannot expand ~: HOME is not set");
        if (append_bytes(t, base->home, strlen(base->home), NAME, err) < 0)
            return -1;
        at = 1;
    } else if (e->text[0] != '/' && !variable_first) {
        if (append_bytes(t, base->cwd, strlen(base->cwd), NAME, err) < 0 ||
            append_bytes(t, "/", 1, NAME, err) < 0)
            return -1;
    }
    for (; at < e->n; at += used)
        if (append_next(base, e, at, t, &used, err) < 0)
            return -1;
    if (t->s[0] != '/') /* a variable that is no path from the root */
        return err_set(err, BK_E_INPUT, "%.*s is not an absolute path", t->n < 80 ? (int)t->n : 80,
                       t->s);
    return 0;
}

/* ---- patterns ---- */

static bool has_mark(const struct spelled *t, size_t from, size_t to, enum mark mark)
{
    return to > from && memchr(t->mark + from, mark, to - from);
}

/* Where the first part with a pattern in it begins (at its slash); n when there is none. */
static size_t pattern_start(const struct spelled *t)
{
    size_t slash = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->s[i] == '/')
            slash = i;
        if (t->mark[i] != NAME)
            return slash;
    }
    return t->n;
}

static bool ends_with_doublestar(const struct spelled *t)
{
    return t->n >= 3 && memcmp(t->s + t->n - 3, "/**", 3) == 0 && t->mark[t->n - 1] == WILD;
}

/* Joins slashes, removes "." and refuses "..": what a pattern matches is known by name only. */
static int tidy_pattern(struct spelled *t, size_t from, struct bk_err *err)
{
    size_t to = from;
    for (size_t i = from; i < t->n;) {
        size_t end = i + 1;
        while (end < t->n && t->s[end] != '/')
            end++;
        size_t len = end - i - 1;
        const char *part = t->s + i + 1;
        if (len == 2 && memcmp(part, "..", 2) == 0)
            return err_set(err, BK_E_INPUT, ".. after a wildcard has no definite meaning");
        if (len && !(len == 1 && *part == '.')) {
            memmove(t->s + to, t->s + i, end - i);
            memmove(t->mark + to, t->mark + i, end - i);
            to += end - i;
        }
        i = end;
    }
    t->n = to;
    return 0;
}

/* How bytes of a name are written in a (glob …). */
static void add_quoted(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add(out, s[i] == '[' ? "[[]" : s + i, s[i] == '[' ? 3 : 1);
}

static void add_pattern(struct buf *out, const struct spelled *t, size_t from, bool sets_are_names)
{
    for (size_t i = from; i < t->n; i++) {
        bool name = t->mark[i] == NAME || (sets_are_names && t->mark[i] == SET);
        if (name)
            add_quoted(out, t->s + i, 1);
        else
            buf_chr(out, t->s[i]);
    }
}

/* ---- walking ---- */

struct walk {
    struct arena *arena;
    const struct path_entry *entry;
    const char *tail; /* a pattern behind the path, as (glob …) has it; NULL for a plain path */
    struct places found;
    char at[TEXT];       /* real, without a slash at its end */
    char rest[TEXT * 2]; /* the rest */
    unsigned hops;
};

static int add_place(struct walk *w, const char *path, const char *rest, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    if (w->tail) {
        add_quoted(&text, path, strlen(path));
        add_quoted(&text, rest, strlen(rest));
        buf_str(&text, w->tail);
    } else {
        buf_str(&text, path);
        buf_str(&text, rest);
    }
    if (!text.n)
        buf_chr(&text, '/');
    struct place p = {
        .path = buf_ok(&text) ? arena_strndup(w->arena, text.s, text.n) : NULL,
        .origin = w->entry->origin,
        .kind = w->tail ? PLACE_GLOB : PLACE_SUBPATH,
        .keeps_metadata = w->entry->keeps_metadata,
    };
    return !p.path || places_push(w->arena, &w->found, &p) < 0 ? err_nomem(err) : 0;
}

/* rest becomes target + what was left of it. */
static int turn(struct walk *w, const char *target, size_t n, const char *left, struct bk_err *err)
{
    char next[TEXT * 2];
    size_t m = strlen(left);
    if (n + m + 2 > sizeof(next))
        return too_long(err);
    memcpy(next, "/", 1);
    memcpy(next + 1, target, n);
    memcpy(next + 1 + n, left, m + 1);
    memcpy(w->rest, next, n + m + 2);
    return 0;
}

static int note_link(struct walk *w, struct bk_err *err)
{
    struct place p = {.path = arena_strndup(w->arena, w->at, strlen(w->at)),
                      .origin = w->entry->origin,
                      .kind = PLACE_LITERAL};
    bool noted = p.path && places_push(w->arena, w->entry->links, &p) == 0;
    return noted ? 0 : err_nomem(err);
}

/* Whether it leads up again: then it says nothing about paths below. */
static bool climbs(const char *rest)
{
    for (const char *at = rest; (at = strstr(at, "/..")); at += 3)
        if (!at[3] || at[3] == '/')
            return true;
    return false;
}

/* w->at is a link; `own`: a command of the user's could have created it; `left` is the rest behind
 * it. Returns 0 if it cannot be read after all. */
static int follow(struct walk *w, bool own, const char *left, struct bk_err *err)
{
    char target[TEXT];
    ssize_t got = w->entry->elsewhere ? 0 : readlink(w->at, target, sizeof(target) - 1);
    if (got <= 0)
        return 0;
    if (++w->hops > HOPS)
        return err_set(err, BK_E_INPUT, "too many symbolic links: %.200s", w->at);
    if ((w->entry->denies && !climbs(left) && add_place(w, w->at, left, err) < 0) ||
        (w->entry->links && own && note_link(w, err) < 0))
        return -1;
    *(target[0] == '/' ? w->at : strrchr(w->at, '/')) = '\0';
    return turn(w, target, (size_t)got, left, err) < 0 ? -1 : 1;
}

/* Takes the next part of rest. Returns 0 when there is none. */
static int step(struct walk *w, bool *there, struct bk_err *err)
{
    const char *part = w->rest + strspn(w->rest, "/");
    size_t len = strcspn(part, "/"), n = strlen(w->at);
    const char *left = part + len;
    if (!len)
        return 0;
    if (len == 2 && memcmp(part, "..", 2) == 0) {
        char *slash = strrchr(w->at, '/');
        *(slash ? slash : w->at) = '\0';
        *there = true; /* perhaps again */
    } else if (!(len == 1 && *part == '.')) {
        if (n + len + 2 > sizeof(w->at))
            return too_long(err);
        w->at[n] = '/';
        memcpy(w->at + n + 1, part, len);
        w->at[n + 1 + len] = '\0';
        struct stat st;
        *there = *there && lstat(w->at, &st) == 0;
        int turned =
            *there && S_ISLNK(st.st_mode) ? follow(w, st.st_uid == geteuid(), left, err) : 0;
        if (turned)
            return turned;
    }
    memmove(w->rest, left, strlen(left) + 1);
    return 1;
}

static int walk(struct walk *w, const char *path, size_t n, struct bk_err *err)
{
    bool there = true;
    int more;
    w->at[0] = '\0';
    if (turn(w, path, n, "", err) < 0)
        return -1;
    while ((more = step(w, &there, err)) > 0)
        ;
    return more < 0 ? -1 : add_place(w, w->at, "", err);
}

static int walk_spelled(struct arena *a, const struct path_entry *e, const struct spelled *t,
                        size_t from, bool sets_are_names, struct places *out, struct bk_err *err)
{
    OWN(buf) struct buf tail = {0};
    struct walk w = {.arena = a, .entry = e};
    if (from < t->n) {
        add_pattern(&tail, t, from, sets_are_names);
        if (!buf_ok(&tail))
            return err_nomem(err);
        w.tail = tail.s;
    }
    if (walk(&w, t->s, from, err) < 0)
        return -1;
    for (size_t i = 0; i < w.found.n; i++)
        if (places_push(a, out, &w.found.at[i]) < 0)
            return err_nomem(err);
    return 0;
}

/* ---- both readings of brackets ---- */

/* Where the part behind the last set begins, for an entry whose sets are meant as names. */
static size_t guarded_paths_sets(const struct spelled *t)
{
    size_t end = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->mark[i] == SET)
            end = i;
    while (end < t->n && t->s[end] != '/')
        end++;
    return end;
}

/* A permission by name needs an existing name. Matches of the pattern cannot have created it: a set
 * is one byte, and the name is longer. */
static bool name_is_there(const struct spelled *t, size_t end)
{
    char path[TEXT];
    struct stat st;
    if (has_mark(t, 0, end, WILD))
        return false;
    for (size_t i = pattern_start(t) + 1; i <= end; i++) {
        if (i < end && t->s[i] != '/')
            continue;
        memcpy(path, t->s, i);
        path[i] = '\0';
        if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
            return false;
    }
    return true;
}

static int read_as_name(struct arena *a, const struct path_entry *e, struct spelled *t,
                        struct places *out, struct bk_err *err)
{
    size_t end = guarded_paths_sets(t);
    if (!has_mark(t, 0, t->n, SET) || (!e->denies && !name_is_there(t, end)))
        return 0;
    for (size_t i = 0; i < t->n; i++)
        t->mark[i] = t->mark[i] == SET ? NAME : t->mark[i];
    return walk_spelled(a, e, t, pattern_start(t), true, out, err);
}

/* A wildcard in a name, or the placeholder for one, would be a wildcard in the pattern. */
static int check_quotable(const struct path_entry *e, const struct spelled *t, struct bk_err *err)
{
    bool wild = memmem(t->s, t->n, "__GLOBSTAR", 10) != NULL;
    for (size_t i = 0; i < t->n; i++)
        wild = wild || (t->mark[i] == NAME && (t->s[i] == '*' || t->s[i] == '?'));
    if (e->denies || !wild)
        return 0;
    err_set(err, BK_E_INPUT, "a name that contains * or ? cannot be part of a pattern");
    err_hint(err, "name the folder itself: {\"path\": …, \"literal\": true}");
    return -1;
}

static int pattern_places(struct arena *a, const struct path_entry *e, struct spelled *t,
                          struct places *out, struct bk_err *err)
{
    size_t from = pattern_start(t);
    if (t->s[t->n - 1] == '/') {
        err_set(err, BK_E_INPUT, "a pattern that ends in a slash matches nothing");
        err_hint(err, "remove the slash, or write /** for everything below");
        return -1;
    }
    if (tidy_pattern(t, from, err) < 0 || check_quotable(e, t, err) < 0 ||
        walk_spelled(a, e, t, from, false, out, err) < 0)
        return -1;
    return read_as_name(a, e, t, out, err);
}

int path_places(struct arena *a, const struct path_base *base, const struct path_entry *given,
                struct places *out, struct bk_err *err)
{
    struct spelled t;
    struct places found = *out;
    struct path_entry here = *given, *e = &here;
    here.elsewhere = base->elsewhere;
    if (spell(base, e, &t, err) < 0)
        return -1;
    /* users write the folder itself like this */
    while (ends_with_doublestar(&t))
        t.n -= t.n > 3 ? 3 : 2;
    int failed = pattern_start(&t) == t.n ? walk_spelled(a, e, &t, t.n, false, &found, err)
                                          : pattern_places(a, e, &t, &found, err);
    if (failed)
        return -1;
    *out = found;
    return 0;
}

const char *path_real(struct arena *a, const struct path_base *base, const char *text,
                      struct bk_err *err)
{
    struct places found = {0};
    struct path_entry e = {.text = text, .n = strlen(text), .literal = true};
    return path_places(a, base, &e, &found, err) < 0 ? NULL : found.at[0].path;
}
