/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One pass over the text, without recursion: `open` is the array or object being filled, and gets
 * each value when it is complete. Refuses what JSON leaves open: duplicate names, halves of
 * surrogate pairs, numbers that don't fit.
 */

#include "settings/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hex.h"
#include "base/own.h"
#include "base/utf8.h"

struct reader {
    struct arena *arena;
    const struct json_text *text;
    const char *at, *end;
    struct json *open;
    unsigned depth;
    struct bk_err *err;
};

/* ---- places ---- */

uint32_t jt_line(const struct json_text *text, uint32_t at)
{
    uint32_t line = 1;
    for (size_t i = 0; i < at && i < text->n; i++)
        line += text->s[i] == '\n';
    return line;
}

int jt_fail(const struct json_text *text, uint32_t at, struct bk_err *err)
{
    uint32_t start = at < text->n ? at : (uint32_t)text->n, col = 1;
    uint32_t here = start;
    while (start > 0 && text->s[start - 1] != '\n')
        start--;
    for (uint32_t i = start; i < here; col++) {
        size_t w = utf8_width(text->s + i, here - i);
        i += w ? (uint32_t)w : 1;
    }
    err_place(err, text->name, jt_line(text, at), col);
    return -1;
}

static uint32_t offset(const struct reader *r)
{
    return (uint32_t)(r->at - r->text->s);
}

static int fail(struct reader *r, const char *what)
{
    err_set(r->err, BK_E_INPUT, "%s", what);
    return jt_fail(r->text, offset(r), r->err);
}

static int no_memory(struct reader *r)
{
    return err_nomem(r->err);
}

/* ---- the tree ---- */

struct json *jt_new(struct arena *a, enum json_kind kind)
{
    struct json *j = arena_new(a, struct json);
    if (j)
        j->kind = kind;
    return j;
}

struct json *jt_string(struct arena *a, const char *s, size_t n)
{
    struct json *j = jt_new(a, JT_STRING);
    if (!j || !(j->s = arena_strndup(a, s, n)))
        return NULL;
    j->n = (uint32_t)n;
    return j;
}

void jt_append(struct json *parent, struct json *child)
{
    child->parent = parent;
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

void jt_remove(struct json *parent, const struct json *child)
{
    struct json *before = NULL;
    for (struct json *j = parent->first; j; before = j, j = j->next) {
        if (j != child)
            continue;
        *(before ? &before->next : &parent->first) = j->next;
        parent->last = parent->last == j ? before : parent->last;
        parent->count--;
        return;
    }
}

struct json *jt_get(const struct json *object, const char *key)
{
    size_t n = strlen(key);
    for (struct json *j = object->first; j; j = j->next)
        if (j->nkey == n && memcmp(j->key, key, n) == 0)
            return j;
    return NULL;
}

void jt_set(struct json *object, const char *key, struct json *value)
{
    struct json *old = jt_get(object, key);
    value->key = key;
    value->nkey = (uint32_t)strlen(key);
    jt_append(object, value);
    if (!old)
        return;
    /* in the old one's place */
    jt_remove(object, value);
    struct json **link = &object->first;
    while (*link != old)
        link = &(*link)->next;
    value->next = old->next;
    *link = value;
    object->last = object->last == old ? value : object->last;
}

bool jt_equal(const struct json *a, const struct json *b)
{
    if (a->kind != b->kind || a->truth != b->truth || a->n != b->n || a->count != b->count ||
        (a->n && memcmp(a->s, b->s, a->n) != 0))
        return false;
    const struct json *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (x->nkey != y->nkey || (x->nkey && memcmp(x->key, y->key, x->nkey) != 0) ||
            !jt_equal(x, y))
            return false;
    return !x && !y;
}

const char *jt_kind_word(enum json_kind kind)
{
    static const char *const words[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    return words[kind];
}

/* ---- strings ---- */

static int hex4(struct reader *r, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int d = r->at < r->end ? hex_digit(*r->at) : -1;
        if (d < 0)
            return fail(r, "\\u must be followed by four hexadecimal digits");
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return 0;
}

static void put_utf8(struct buf *b, uint32_t c)
{
    if (c < 0x80) {
        buf_chr(b, (char)c);
    } else if (c < 0x800) {
        buf_chr(b, (char)(0xc0 | c >> 6));
        buf_chr(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_chr(b, (char)(0xe0 | c >> 12));
        buf_chr(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_chr(b, (char)(0x80 | (c & 0x3f)));
    } else {
        buf_chr(b, (char)(0xf0 | c >> 18));
        buf_chr(b, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_chr(b, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_chr(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* Behind \u. */
static int read_unicode(struct reader *r, struct buf *out)
{
    uint32_t c = 0, low = 0;
    if (hex4(r, &c) < 0)
        return -1;
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return fail(r, "half of a surrogate pair");
        r->at += 2;
        if (hex4(r, &low) < 0)
            return -1;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c <= 0xdfff) {
        return fail(r, "half of a surrogate pair");
    }
    if (c == 0)
        return fail(r, "settings must not contain NUL bytes");
    put_utf8(out, c);
    return 0;
}

static int read_escape(struct reader *r, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : 0;
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return read_unicode(r, out);
    if (!found)
        return fail(r, "a backslash must be followed by one of \" \\ / b f n r t u");
    buf_chr(out, to[found - from]);
    return 0;
}

/* Bytes up to the next quote or backslash. */
static int read_plain(struct reader *r, struct buf *out)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\') {
        size_t w = (unsigned char)*r->at < 0x80 ? 1 : utf8_width(r->at, (size_t)(r->end - r->at));
        if (!w)
            return fail(r, "this is not UTF-8");
        if ((unsigned char)*r->at < 0x20)
            return fail(r, *r->at == '\n' ? "the string does not end on this line"
                                          : "write a control character in a string as \\u00XX");
        r->at += w;
    }
    buf_add(out, start, (size_t)(r->at - start));
    return 0;
}

/* At a quote. */
static int read_string(struct reader *r, const char **s, uint32_t *n)
{
    OWN(buf) struct buf out = {0};
    const char *start = r->at++;
    while (r->at < r->end && *r->at != '"') {
        int result = *r->at == '\\' ? (r->at++, read_escape(r, &out)) : read_plain(r, &out);
        if (result < 0)
            return -1;
    }
    if (r->at >= r->end) {
        r->at = start;
        return fail(r, "the string does not end");
    }
    r->at++;
    *s = buf_ok(&out) ? arena_strndup(r->arena, out.s ? out.s : "", out.n) : NULL;
    *n = (uint32_t)out.n;
    return *s ? 0 : no_memory(r);
}

/* ---- other values ---- */

static size_t digits(const char *s, const char *end)
{
    const char *from = s;
    while (s < end && *s >= '0' && *s <= '9')
        s++;
    return (size_t)(s - from);
}

static int read_number(struct reader *r, struct json *j)
{
    const char *s = r->at;
    s += s < r->end && *s == '-';
    size_t whole = digits(s, r->end);
    if (!whole || (*s == '0' && whole > 1))
        return fail(r, "this is not a number");
    s += whole;
    j->integral = true;
    if (s < r->end && *s == '.') {
        size_t part = digits(s + 1, r->end);
        if (!part)
            return fail(r, "this is not a number");
        s += 1 + part;
        j->integral = false;
    }
    if (s < r->end && (*s | 0x20) == 'e') {
        s += 1 + (s + 1 < r->end && (s[1] == '+' || s[1] == '-'));
        size_t power = digits(s, r->end);
        if (!power)
            return fail(r, "this is not a number");
        s += power;
        j->integral = false;
    }
    j->n = (uint32_t)(s - r->at);
    if (!(j->s = arena_strndup(r->arena, r->at, j->n)))
        return no_memory(r);
    errno = 0;
    j->number = j->integral ? strtoll(j->s, NULL, 10) : 0;
    j->integral = j->integral && !errno;
    r->at = s;
    return 0;
}

static bool word(struct reader *r, const char *w)
{
    size_t n = strlen(w);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0)
        return false;
    r->at += n;
    return true;
}

static int read_word(struct reader *r, struct json *j)
{
    j->kind = JT_BOOL;
    j->truth = word(r, "true");
    if (j->truth || word(r, "false"))
        return 0;
    j->kind = JT_NULL;
    return word(r, "null") ? 0 : fail(r, "a value is missing here");
}

/* ---- structure ---- */

static int skip_space(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
    if (r->at < r->end && (*r->at == '/' || *r->at == '#')) {
        fail(r, "comments are not JSON");
        err_hint(r->err, "`buckle settings` rewrites files and would lose them");
        return -1;
    }
    return 0;
}

static int check_twice(struct reader *r, const struct json *j)
{
    if (r->open->count >= JSON_MEMBERS)
        return fail(r, "too many members in one object");
    for (const struct json *o = r->open->first; o; o = o->next)
        if (o->nkey == j->nkey && memcmp(o->key, j->key, j->nkey) == 0) {
            err_set(r->err, BK_E_INPUT, "%.60s appears twice; first on line %u", j->key,
                    jt_line(r->text, o->key_at));
            return jt_fail(r->text, j->key_at, r->err);
        }
    return 0;
}

static int read_key(struct reader *r, struct json *j)
{
    j->key_at = offset(r);
    if (r->at >= r->end || *r->at != '"')
        return fail(r, "expected a name in quotes");
    if (read_string(r, &j->key, &j->nkey) < 0 || check_twice(r, j) < 0 || skip_space(r) < 0)
        return -1;
    if (r->at >= r->end || *r->at != ':')
        return fail(r, "expected a colon");
    r->at++;
    return skip_space(r);
}

static int read_value(struct reader *r, struct json *j)
{
    char c = r->at < r->end ? *r->at : 0;
    j->at = offset(r);
    if (c == '{' || c == '[') {
        j->kind = c == '{' ? JT_OBJECT : JT_ARRAY;
        if (++r->depth > JSON_DEPTH)
            return fail(r, "lists and objects are nested too deeply");
        r->at++;
        return 0;
    }
    if (c == '"') {
        j->kind = JT_STRING;
        return read_string(r, &j->s, &j->n);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        j->kind = JT_NUMBER;
        return read_number(r, j);
    }
    return read_word(r, j);
}

/* Closes what ends here. Returns 1 when a value must follow, 0 when the text is complete. */
static int after_value(struct reader *r)
{
    while (r->open) {
        char close = r->open->kind == JT_OBJECT ? '}' : ']';
        if (skip_space(r) < 0)
            return -1;
        char c = r->at < r->end ? *r->at : 0;
        if (c == ',' && r->open->count) {
            r->at++;
            return skip_space(r) < 0 ? -1 : 1;
        }
        if (c != close && !r->open->count)
            return 1;
        if (c != close)
            return fail(r, r->at < r->end ? "expected a comma or the closing bracket"
                                          : "the text ends too early");
        r->at++;
        r->depth--;
        r->open = r->open->parent;
    }
    return 0;
}

struct json *jt_read(struct arena *a, const struct json_text *text, struct bk_err *err)
{
    struct reader r = {.arena = a, .text = text, .at = text->s, .err = err};
    struct json *root = NULL;
    int more = 1;
    r.end = text->s + text->n;
    word(&r, "\xef\xbb\xbf");
    if (skip_space(&r) < 0)
        return NULL;
    if (r.at == r.end)
        return fail(&r, "the text is empty"), NULL;
    while (more > 0) {
        struct json *j = jt_new(a, JT_NULL);
        if (!j)
            return no_memory(&r), NULL;
        if ((r.open && r.open->kind == JT_OBJECT && read_key(&r, j) < 0) || read_value(&r, j) < 0)
            return NULL;
        if (r.open)
            jt_append(r.open, j);
        root = root ? root : j;
        if (j->kind == JT_OBJECT || j->kind == JT_ARRAY)
            r.open = j;
        more = after_value(&r);
    }
    if (more < 0 || skip_space(&r) < 0)
        return NULL;
    if (r.at != r.end)
        return fail(&r, "unexpected text after the end"), NULL;
    return root;
}

/* ---- files ---- */

static int too_large(const char *path, struct bk_err *err)
{
    err_set(err, BK_E_LIMIT, "larger than %d KiB, the limit for settings", JSON_MAX >> 10);
    err_place(err, path, 0, 0);
    return -1;
}

/* Regular files, standard input and pipes of a shell's <(…): any other pipe could block us. */
static bool may_read(const char *path, mode_t mode)
{
    bool given = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 ||
                 strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0;
    return S_ISREG(mode) || (given && !S_ISDIR(mode));
}

int jt_load(struct arena *a, const char *path, struct json_text *out, struct bk_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    OWN(fd)
    int fd =
        standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "cannot read %s", path);
    if (!may_read(path, st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return err_sys(err, "cannot read %s", path);
    }
    if (S_ISREG(st.st_mode) && st.st_size > JSON_MAX)
        return too_large(path, err);
    if (!standard && !S_ISREG(st.st_mode))
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    size_t cap = S_ISREG(st.st_mode) ? (size_t)st.st_size : JSON_MAX;
    OWN(mem) char *text = malloc(cap + 1);
    if (!text)
        return err_nomem(err);
    ssize_t n = fd_read_all(fd, text, cap + 1);
    if (n < 0)
        return err_sys(err, "cannot read %s", path);
    if (n > JSON_MAX)
        return too_large(path, err);
    out->name = arena_strndup(a, standard ? "<stdin>" : path, standard ? 7 : strlen(path));
    out->s = arena_strndup(a, text, (size_t)n);
    out->n = (size_t)n;
    out->once = !S_ISREG(st.st_mode);
    return out->s && out->name ? 0 : err_nomem(err);
}

/* ---- printing ---- */

static void indent(struct buf *out, unsigned depth)
{
    buf_chr(out, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_str(out, "  ");
}

/* A list of a few plain values fits on a line. */
static bool is_short(const struct json *j)
{
    size_t width = 0;
    if (j->kind != JT_ARRAY)
        return j->count == 0;
    for (const struct json *e = j->first; e; e = e->next) {
        if (e->count || e->kind == JT_OBJECT)
            return false;
        width += e->n + 4;
    }
    return width < 70;
}

static void print_plain(const struct json *j, struct buf *out)
{
    if (j->kind == JT_STRING)
        buf_json(out, j->s, j->n);
    else if (j->kind == JT_NUMBER)
        buf_add(out, j->s, j->n);
    else
        buf_str(out, j->kind == JT_NULL ? "null" : j->truth ? "true" : "false");
}

static void print(const struct json *j, unsigned depth, struct buf *out)
{
    bool object = j->kind == JT_OBJECT, flat = is_short(j);
    if (!object && j->kind != JT_ARRAY) {
        print_plain(j, out);
        return;
    }
    buf_chr(out, object ? '{' : '[');
    for (const struct json *e = j->first; e; e = e->next) {
        if (!flat)
            indent(out, depth + 1);
        if (object) {
            buf_json(out, e->key, e->nkey);
            buf_str(out, ": ");
        }
        print(e, depth + 1, out); /* no deeper than JSON_DEPTH */
        buf_str(out, !e->next ? "" : flat ? ", " : ",");
    }
    if (!flat)
        indent(out, depth);
    buf_chr(out, object ? '}' : ']');
}

void jt_print(const struct json *j, struct buf *out)
{
    print(j, 0, out);
    buf_chr(out, '\n');
}
