/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Decodes a target once, as RFC 3986 has it, and rejects what is left ambiguous: dot segments,
 * empty segments, backslashes, escapes inside escapes, control characters, text that is not UTF-8.
 */

#include "net/request.h"

#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/utf8.h"

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* The byte that an escape at s stands for, or -1. */
static int escaped(const char *s, size_t n)
{
    int hi = n >= 3 ? hex_digit(s[1]) : -1, lo = n >= 3 ? hex_digit(s[2]) : -1;
    return hi < 0 || lo < 0 ? -1 : hi << 4 | lo;
}

/* ---- the path ---- */

static const char *decode_path(struct slice in, bool keep_slashes, char *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < in.n; i++) {
        int c = (unsigned char)in.s[i];
        bool escape = c == '%';
        if (escape)
            c = escaped(in.s + i, in.n - i);
        if (c < 0)
            return "the path has an invalid escape";
        if (c < ' ' || c == 0x7f || c == '\\' || (!escape && c >= 0x80) || (!escape && c == '#'))
            return "the path has characters that servers read differently";
        if (escape && c == '/' && keep_slashes) {
            memcpy(out + *n, "%2F", 3);
            *n += 3;
        } else {
            out[(*n)++] = (char)c;
        }
        i += escape ? 2 : 0;
    }
    return NULL;
}

/* A segment up to a semicolon, which may start parameters. */
static bool is_dots(const char *s, size_t n)
{
    const char *end = memchr(s, ';', n);
    size_t m = end ? (size_t)(end - s) : n;
    return (m == 1 && s[0] == '.') || (m == 2 && s[0] == '.' && s[1] == '.');
}

static const char *check_segments(const char *s, size_t n)
{
    for (size_t at = 1; at <= n;) {
        const char *slash = at < n ? memchr(s + at, '/', n - at) : NULL;
        size_t end = slash ? (size_t)(slash - s) : n;
        if (is_dots(s + at, end - at))
            return "the path has dot segments";
        if (end == at && end < n)
            return "the path has empty segments";
        at = end + 1;
    }
    return NULL;
}

static const char *check_path(const char *s, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        if (s[i] == '%' && escaped(s + i, n - i) >= 0)
            return "the path has escapes inside escapes";
    for (size_t i = 0; i < n;) {
        size_t used = utf8_width(s + i, n - i);
        if (!used)
            return "the path is not UTF-8";
        i += used;
    }
    return check_segments(s, n);
}

/* Leaves out what follows a semicolon in each segment. */
static size_t strip_parameters(const char *s, size_t n, char *out)
{
    size_t m = 0;
    bool skips = false;
    for (size_t i = 0; i < n; i++) {
        skips = s[i] == ';' || (skips && s[i] != '/');
        if (!skips)
            out[m++] = s[i];
    }
    return m;
}

static const char *read_paths(struct slice path, char *room, struct request *r)
{
    size_t n;
    const char *why = decode_path(path, false, room, &n);
    if (!why)
        why = check_path(room, n);
    if (why)
        return why;
    r->paths[0] = (struct slice){room, n};
    r->npaths = 1;
    for (size_t i = 0; i + 2 < path.n; i++)
        if (path.s[i] == '%' && escaped(path.s + i, path.n - i) == '/') {
            char *as_text = room + HTTP_HEAD_MAX;
            decode_path(path, true, as_text, &n);
            r->paths[r->npaths++] = (struct slice){as_text, n};
            break;
        }
    if (memchr(r->paths[0].s, ';', r->paths[0].n)) {
        char *bare = room + 2 * (size_t)HTTP_HEAD_MAX;
        n = strip_parameters(r->paths[0].s, r->paths[0].n, bare);
        why = check_segments(bare, n);
        r->paths[r->npaths++] = (struct slice){bare, n};
    }
    return why;
}

/* ---- the query ---- */

/* Escapes of other characters stay, in upper case: decoding them could make new separators. The
 * text only gets shorter, and takes the place behind the path, which has given up its question
 * mark. */
static const char *read_query(struct slice in, char *out, struct slice *query)
{
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        int c = in.s[i] == '%' ? escaped(in.s + i, in.n - i) : (unsigned char)in.s[i];
        if (c < 0)
            return "the query has an invalid escape";
        if (in.s[i] != '%' && (c <= ' ' || c >= 0x7f || c == '#'))
            return "the query has characters that servers read differently";
        if (in.s[i] == '%' && !is_plain((unsigned char)c)) {
            static const char digits[] = "0123456789ABCDEF";
            out[n++] = '%';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        } else {
            out[n++] = (char)c;
        }
        i += in.s[i] == '%' ? 2 : 0;
    }
    *query = (struct slice){out, n};
    return NULL;
}

const char *request_read(struct slice method, struct slice target, char *room, struct request *out)
{
    *out = (struct request){.method = method, .query = {"", 0}};
    if (target.n >= HTTP_HEAD_MAX)
        return "the target is too long";
    if ((method.n == 5 && memcmp(method.s, "TRACE", 5) == 0) ||
        (method.n == 5 && memcmp(method.s, "TRACK", 5) == 0))
        return "TRACE would send the request back";
    if (target.n == 1 && *target.s == '*') {
        out->paths[out->npaths++] = target;
        return NULL;
    }
    if (target.n == 0 || *target.s != '/')
        return "the target is not a path";
    const char *mark = memchr(target.s, '?', target.n);
    struct slice path = {target.s, mark ? (size_t)(mark - target.s) : target.n};
    if (mark) {
        struct slice query = {mark + 1, target.n - path.n - 1};
        const char *why = read_query(query, room + path.n, &out->query);
        if (why)
            return why;
    }
    return read_paths(path, room, out);
}

bool request_is_override(struct slice name)
{
    static const char *const names[] = {"X-HTTP-Method-Override", "X-HTTP-Method",
                                        "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (name.n == strlen(names[i]) && strncasecmp(name.s, names[i], name.n) == 0)
            return true;
    return false;
}
