/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * TOML, as far as settings of programs use it: tables, arrays of tables, dotted keys, all kinds of
 * strings, numbers, booleans, arrays and inline tables. What it does not understand is an error.
 */

#include "settings/toml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum { TOML_DEPTH = 32 };

struct toml {
    struct arena *arena;
    const struct json_text *text;
    size_t at;
    struct bk_err *err;
};

static int wrong(struct toml *t, const char *what)
{
    err_set(t->err, BK_E_INPUT, "%s", what);
    return jt_fail(t->text, (uint32_t)(t->at < t->text->n ? t->at : t->text->n), t->err);
}

static char peek(const struct toml *t)
{
    return t->at < t->text->n ? t->text->s[t->at] : '\0';
}

static bool begins(const struct toml *t, const char *what)
{
    return strncmp(t->text->s + t->at, what, strlen(what)) == 0;
}

static void skip_space(struct toml *t, bool lines)
{
    for (;; t->at++) {
        char c = peek(t);
        if (c == '#')
            while (t->at + 1 < t->text->n && t->text->s[t->at + 1] != '\n')
                t->at++;
        else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')))
            return;
    }
}

/* ---- strings ---- */

static void put_utf8(struct buf *out, unsigned long c)
{
    if (c < 0x80) {
        buf_chr(out, (char)c);
    } else if (c < 0x800) {
        buf_chr(out, (char)(0xc0 | c >> 6));
        buf_chr(out, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_chr(out, (char)(0xe0 | c >> 12));
        buf_chr(out, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_chr(out, (char)(0x80 | (c & 0x3f)));
    } else {
        buf_chr(out, (char)(0xf0 | c >> 18));
        buf_chr(out, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_chr(out, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_chr(out, (char)(0x80 | (c & 0x3f)));
    }
}

static int read_escape(struct toml *t, struct buf *out)
{
    static const char from[] = "btnfr\"\\e", to[] = "\b\t\n\f\r\"\\\033";
    char c = peek(t), digits[9] = "";
    const char *simple = c ? strchr(from, c) : NULL;
    t->at++;
    if (simple) {
        buf_chr(out, to[simple - from]);
        return 0;
    }
    size_t n = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (!n || t->at + n > t->text->n)
        return wrong(t, "this escape is unknown");
    memcpy(digits, t->text->s + t->at, n);
    unsigned long value =
        strspn(digits, "0123456789abcdefABCDEF") == n ? strtoul(digits, NULL, 16) : 0;
    if (!value || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return wrong(t, "this escape is no character");
    t->at += n;
    put_utf8(out, value);
    return 0;
}

static int read_string(struct toml *t, struct buf *out)
{
    char quote = peek(t), three[4] = {quote, quote, quote, '\0'};
    bool lines = begins(t, three);
    t->at += lines ? 3 : 1;
    if (lines && begins(t, "\r\n"))
        t->at += 2;
    else if (lines && peek(t) == '\n')
        t->at++;
    while (t->at < t->text->n) {
        char c = peek(t);
        if (lines ? begins(t, three) : c == quote) {
            t->at += lines ? 3 : 1;
            while (lines && peek(t) == quote) /* up to two quotes before the end belong to it */
                buf_chr(out, quote), t->at++;
            return 0;
        }
        if (!lines && c == '\n')
            break;
        t->at++;
        if (c != '\\' || quote == '\'') {
            buf_chr(out, c);
        } else if (lines && strchr(" \t\r\n", peek(t))) {
            while (t->at < t->text->n && strchr(" \t\r\n", peek(t)))
                t->at++;
        } else if (read_escape(t, out) < 0) {
            return -1;
        }
    }
    return wrong(t, "this string is not closed");
}

/* ---- keys ---- */

static int read_key(struct toml *t, char **out)
{
    OWN(buf) struct buf key = {0};
    size_t from = t->at;
    if (peek(t) == '"' || peek(t) == '\'') {
        if (read_string(t, &key) < 0)
            return -1;
    } else {
        t->at += strspn(t->text->s + t->at,
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        if (t->at == from)
            return wrong(t, "a key is missing here");
        buf_add(&key, t->text->s + from, t->at - from);
    }
    if (!buf_ok(&key) || (key.n && strlen(key.s) != key.n))
        return wrong(t, "this key has a NUL byte");
    *out = arena_strndup(t->arena, key.s ? key.s : "", key.n);
    return *out ? 0 : err_nomem(t->err);
}

/* A member of an object, created if missing. */
static struct json *step(struct toml *t, struct json *object, const char *key)
{
    struct json *next = jt_get(object, key);
    if (next && next->kind == JT_ARRAY && next->last) /* the last table of an array of tables */
        next = next->last;
    if (next && next->kind != JT_OBJECT) {
        wrong(t, "this is a value already, not a table");
        return NULL;
    }
    if (next)
        return next;
    if (object->count >= JSON_MEMBERS || !(next = jt_new(t->arena, JT_OBJECT))) {
        wrong(t, "there are too many keys");
        return NULL;
    }
    jt_set(object, key, next);
    return next;
}

/* a.b.c: all but the last are stepped into. */
static int read_path(struct toml *t, struct json **object, char **last)
{
    for (unsigned depth = 0; depth < TOML_DEPTH; depth++) {
        skip_space(t, false);
        if (read_key(t, last) < 0)
            return -1;
        skip_space(t, false);
        if (peek(t) != '.')
            return 0;
        t->at++;
        *object = step(t, *object, *last);
        if (!*object)
            return -1;
    }
    return wrong(t, "this is nested too deep");
}

/* ---- values ---- */

static struct json *read_value(struct toml *t, unsigned depth);

static int read_pair(struct toml *t, struct json *object, unsigned depth)
{
    char *key;
    size_t from = t->at;
    if (read_path(t, &object, &key) < 0)
        return -1;
    if (peek(t) != '=')
        return wrong(t, "a = is missing here");
    t->at++;
    skip_space(t, false);
    struct json *value = read_value(t, depth);
    if (!value)
        return -1;
    if (jt_get(object, key) || object->count >= JSON_MEMBERS) {
        t->at = from;
        return wrong(t, "this key is here twice, or there are too many");
    }
    jt_set(object, key, value);
    return 0;
}

static struct json *read_array(struct toml *t, unsigned depth)
{
    struct json *array = jt_new(t->arena, JT_ARRAY);
    for (t->at++; array;) {
        skip_space(t, true);
        if (peek(t) == ']') {
            t->at++;
            return array;
        }
        struct json *value = read_value(t, depth);
        if (!value)
            return NULL;
        jt_append(array, value);
        skip_space(t, true);
        if (peek(t) == ',')
            t->at++;
        else if (peek(t) != ']')
            return wrong(t, "a , or ] is missing here"), NULL;
    }
    return err_nomem(t->err), NULL;
}

static struct json *read_inline(struct toml *t, unsigned depth)
{
    struct json *object = jt_new(t->arena, JT_OBJECT);
    for (t->at++; object;) {
        skip_space(t, true);
        if (peek(t) == '}') {
            t->at++;
            return object;
        }
        if (read_pair(t, object, depth) < 0)
            return NULL;
        skip_space(t, true);
        if (peek(t) == ',')
            t->at++;
        else if (peek(t) != '}')
            return wrong(t, "a , or } is missing here"), NULL;
    }
    return err_nomem(t->err), NULL;
}

static struct json *read_word(struct toml *t)
{
    size_t n = strcspn(t->text->s + t->at, ",]} \t\r\n#");
    const char *s = t->text->s + t->at;
    char *end;
    bool yes = n == 4 && memcmp(s, "true", 4) == 0, no = n == 5 && memcmp(s, "false", 5) == 0;
    struct json *j = yes || no ? jt_new(t->arena, JT_BOOL) : jt_string(t->arena, s, n);
    if (!n || (!yes && !no && !strchr("0123456789+-", s[0]) && strncmp(s, "inf", 3) != 0 &&
               strncmp(s, "nan", 3) != 0))
        return wrong(t, "this is not a value"), NULL;
    t->at += n;
    if (!j)
        return err_nomem(t->err), NULL;
    j->truth = yes;
    errno = 0;
    long long number = strtoll(j->s ? j->s : "", &end, 10);
    if (!yes && !no && end == j->s + n && !errno) {
        j->kind = JT_NUMBER;
        j->integral = true;
        j->number = number;
    }
    return j;
}

static struct json *read_value(struct toml *t, unsigned depth)
{
    OWN(buf) struct buf text = {0};
    uint32_t at = (uint32_t)t->at;
    struct json *j;
    if (depth >= TOML_DEPTH)
        return wrong(t, "this is nested too deep"), NULL;
    if (peek(t) == '[') {
        j = read_array(t, depth + 1);
    } else if (peek(t) == '{') {
        j = read_inline(t, depth + 1);
    } else if (peek(t) == '"' || peek(t) == '\'') {
        if (read_string(t, &text) < 0)
            return NULL;
        j = buf_ok(&text) ? jt_string(t->arena, text.s ? text.s : "", text.n) : NULL;
        if (!j)
            err_nomem(t->err);
    } else {
        j = read_word(t);
    }
    if (j)
        j->at = at;
    return j;
}

/* ---- tables ---- */

static int read_header(struct toml *t, struct json *root, struct json **table)
{
    bool array = begins(t, "[[");
    char *last;
    struct json *object = root;
    t->at += array ? 2 : 1;
    if (read_path(t, &object, &last) < 0)
        return -1;
    if (!begins(t, array ? "]]" : "]"))
        return wrong(t, "a ] is missing here");
    t->at += array ? 2 : 1;
    if (!array) {
        *table = step(t, object, last);
        return *table ? 0 : -1;
    }
    struct json *list = jt_get(object, last), *one = jt_new(t->arena, JT_OBJECT);
    if (!list && (list = jt_new(t->arena, JT_ARRAY)))
        jt_set(object, last, list);
    if (!list || !one)
        return err_nomem(t->err);
    if (list->kind != JT_ARRAY || list->count >= JSON_MEMBERS)
        return wrong(t, "this is a value already, or there are too many");
    jt_append(list, one);
    *table = one;
    return 0;
}

struct json *toml_read(struct arena *a, const struct json_text *text, struct bk_err *err)
{
    struct toml t = {.arena = a, .text = text, .err = err};
    struct json *root = jt_new(a, JT_OBJECT), *table = root;
    if (!root || memchr(text->s, '\0', text->n)) {
        err_set(err, BK_E_INPUT, "%s: a NUL byte", text->name);
        return NULL;
    }
    if (begins(&t, "\xef\xbb\xbf"))
        t.at = 3;
    for (skip_space(&t, true); t.at < text->n; skip_space(&t, true)) {
        if ((peek(&t) == '[' ? read_header(&t, root, &table) : read_pair(&t, table, 0)) < 0)
            return NULL;
        skip_space(&t, false);
        if (t.at < text->n && peek(&t) != '\n' && peek(&t) != '\r')
            return wrong(&t, "the end of the line was expected here"), NULL;
    }
    return root;
}
