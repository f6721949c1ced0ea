/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What JSON does not have is blanked with spaces, so that positions in the tree are positions in
 * the text. Changes copy the text around one place. An insertion at the end of a container takes
 * the line layout of what is there; removing the same thing restores the bytes before it.
 */

#include "settings/jsonc.h"

#include <string.h>

#include "base/own.h"

/* ---- reading ---- */

/* The position behind a string that begins at `at`. */
static size_t skip_string(const char *s, size_t n, size_t at)
{
    for (at++; at < n && s[at] != '"' && s[at] != '\n'; at++)
        at += s[at] == '\\' && at + 1 < n;
    return at < n ? at + 1 : n;
}

static size_t comment_end(const char *s, size_t n, size_t at)
{
    if (at + 1 >= n || s[at] != '/' || (s[at + 1] != '/' && s[at + 1] != '*'))
        return at;
    bool line = s[at + 1] == '/';
    for (at += 2; at < n; at++)
        if (line ? s[at] == '\n' : s[at] == '*' && at + 1 < n && s[at + 1] == '/')
            return line ? at : at + 2;
    return line ? n : 0; /* not closed */
}

static void blank(char *s, size_t from, size_t to)
{
    for (; from < to; from++)
        if (s[from] != '\n')
            s[from] = ' ';
}

/* A comma with nothing but space before the bracket. */
static void blank_comma(char *s, size_t n, size_t at)
{
    size_t next = at + 1 + strspn(s + at + 1, " \t\r\n");
    if (next < n && (s[next] == '}' || s[next] == ']'))
        s[at] = ' ';
}

static char *make_plain(struct arena *a, const struct json_text *text)
{
    char *s = arena_strndup(a, text->s, text->n);
    size_t n = text->n;
    if (s && n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        blank(s, 0, 3);
    for (size_t i = 0; s && i < n;) {
        size_t end = comment_end(s, n, i);
        if (s[i] == '"')
            i = skip_string(s, n, i);
        else if (end > i)
            blank(s, i, end), i = end;
        else
            i++;
    }
    for (size_t i = 0; s && i < n;)
        if (s[i] == '"')
            i = skip_string(s, n, i);
        else if (s[i] == ',')
            blank_comma(s, n, i++);
        else
            i++;
    return s;
}

int jsonc_read(struct arena *a, const struct json_text *text, struct jsonc *out, struct bk_err *err)
{
    struct json_text plain = *text;
    plain.s = make_plain(a, text);
    if (!plain.s)
        return err_nomem(err);
    struct json *root = jt_read(a, &plain, err);
    if (!root)
        return -1;
    *out = (struct jsonc){.text = *text, .plain = plain.s, .root = root};
    return 0;
}

/* ---- places ---- */

/* The position behind a value. */
static size_t value_end(const struct jsonc *d, const struct json *j)
{
    size_t at = j->at, n = d->text.n, depth = 0;
    if (j->kind != JT_ARRAY && j->kind != JT_OBJECT && j->kind != JT_STRING)
        return at + strcspn(d->plain + at, ",]} \t\r\n");
    while (at < n) {
        char c = d->plain[at];
        if (c == '"') {
            at = skip_string(d->plain, n, at);
        } else {
            depth += c == '[' || c == '{';
            depth -= c == ']' || c == '}';
            at++;
        }
        if (!depth)
            return at;
    }
    return n;
}

static size_t value_start(const struct json *j)
{
    return j->parent && j->parent->kind == JT_OBJECT ? j->key_at : j->at;
}

/* The spaces at the beginning of the line with this position. */
static size_t line_indent(const struct jsonc *d, size_t at, const char **spaces)
{
    while (at && d->text.s[at - 1] != '\n')
        at--;
    *spaces = d->text.s + at;
    return strspn(*spaces, " \t");
}

static bool on_own_line(const struct jsonc *d, size_t at)
{
    const char *spaces;
    size_t n = line_indent(d, at, &spaces);
    return spaces + n == d->text.s + at;
}

/* One level of the text's indentation: that of its first member. */
static void indent_unit(const struct jsonc *d, struct buf *out)
{
    const char *spaces;
    const struct json *first = d->root->first;
    size_t n = first ? line_indent(d, value_start(first), &spaces) : 0;
    if (n && n <= 8)
        buf_add(out, spaces, n);
    else
        buf_str(out, "  ");
}

static const char *line_break(const struct jsonc *d)
{
    const char *end = memchr(d->text.s, '\n', d->text.n);
    return end && end > d->text.s && end[-1] == '\r' ? "\r\n" : "\n";
}

/* ---- inserting ---- */

/* A value as jt_print() lays it out, moved to an indentation. */
static void print_value(const struct jsonc *d, const struct json *value, const struct buf *indent,
                        struct buf *out)
{
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf unit = {0};
    jt_print(value, &text);
    indent_unit(d, &unit);
    for (size_t i = 0; i + 1 < text.n; i++) { /* without the last line break */
        if (text.s[i] != '\n') {
            buf_chr(out, text.s[i]);
            continue;
        }
        buf_str(out, line_break(d));
        buf_add(out, indent->s ? indent->s : "", indent->n);
        for (; text.s[i + 1] == ' ' && text.s[i + 2] == ' '; i += 2)
            buf_add(out, unit.s, unit.n);
    }
}

/* What is behind a value, comments apart: a comma that nothing follows. */
static size_t trailing_comma(const struct jsonc *d, size_t at, size_t close)
{
    const char *s = d->text.s;
    while (at < close) {
        size_t end = comment_end(s, close, at);
        if (s[at] == ',')
            return at + 1;
        at = end > at ? end : at + 1;
    }
    return 0;
}

/* The end of a comment that follows on the same line. */
static size_t line_comment(const struct jsonc *d, size_t at, size_t close)
{
    size_t begin = at + strspn(d->text.s + at, " \t"), end = comment_end(d->text.s, close, begin);
    bool same = end > begin && !memchr(d->text.s + begin, '\n', end - begin);
    return same ? end : at;
}

void jsonc_insert(const struct jsonc *d, const struct json *into, const char *key,
                  const struct json *value, struct buf *out)
{
    OWN(buf) struct buf indent = {0};
    const struct json *last = into->last;
    size_t close = value_end(d, into) - 1;
    size_t from = last ? value_end(d, last) : into->at + 1;
    size_t comma = last ? trailing_comma(d, from, close) : 0;
    const char *spaces;
    bool lines = !last || on_own_line(d, value_start(last));
    size_t n = line_indent(d, last ? value_start(last) : into->at, &spaces);
    buf_add(&indent, spaces, n);
    if (!last)
        indent_unit(d, &indent);
    from = comma ? comma : from;
    buf_add(out, d->text.s, from);
    buf_str(out, last && !comma ? "," : "");
    size_t behind = last ? line_comment(d, from, close) : from; /* a comment stays with its line */
    buf_add(out, d->text.s + from, behind - from);
    from = behind;
    if (lines)
        buf_fmt(out, "%s%s", line_break(d), indent.s ? indent.s : "");
    else
        buf_chr(out, ' ');
    if (key) {
        buf_json(out, key, strlen(key));
        buf_str(out, ": ");
    }
    print_value(d, value, &indent, out);
    buf_str(out, comma ? "," : "");
    bool broken = memchr(d->text.s + from, '\n', close - from) != NULL;
    if (!last && !broken) { /* the bracket moves to a line of its own */
        n = line_indent(d, into->at, &spaces);
        buf_str(out, line_break(d));
        buf_add(out, spaces, n);
    }
    buf_add(out, d->text.s + from, d->text.n - from);
    out->failed = out->failed || indent.failed;
}

/* ---- removing ---- */

static bool only_space(const char *s, size_t from, size_t to)
{
    for (; from < to; from++)
        if (!strchr(" \t\r\n", s[from]))
            return false;
    return true;
}

void jsonc_remove(const struct jsonc *d, const struct json *child, struct buf *out)
{
    const struct json *parent = child->parent, *before = NULL;
    size_t from = value_start(child), to = value_end(d, child), close = value_end(d, parent) - 1;
    for (const struct json *j = parent->first; j && j != child; j = j->next)
        before = j;
    if (child->next) { /* up to the next one */
        size_t next = value_start(child->next);
        size_t comma = trailing_comma(d, to, next);
        to = only_space(d->text.s, comma, next) ? next : comma;
    } else if (before) { /* from behind the one before, whose comma goes unless it may stay */
        size_t end = value_end(d, before), comma = trailing_comma(d, end, from);
        size_t own = trailing_comma(d, to, close);
        if (own) {
            to = own;
            while (from > comma && strchr(" \t\r\n", d->text.s[from - 1]))
                from--;
        } else if (only_space(d->text.s, comma, from)) {
            from = only_space(d->text.s, end, comma - 1) ? end : comma - 1;
        } else { /* a comment between stays, the comma before it goes */
            while (strchr(" \t\r\n", d->text.s[from - 1]))
                from--;
            buf_add(out, d->text.s, comma - 1);
            buf_add(out, d->text.s + comma, from - comma);
            buf_add(out, d->text.s + to, d->text.n - to);
            return;
        }
    } else {
        size_t own = trailing_comma(d, to, close);
        to = own ? own : to;
        if (only_space(d->text.s, parent->at + 1, from) && only_space(d->text.s, to, close)) {
            from = parent->at + 1;
            to = close;
        }
    }
    buf_add(out, d->text.s, from);
    buf_add(out, d->text.s + to, d->text.n - to);
}
