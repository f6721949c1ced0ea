/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Property lists in XML, the form that code signatures have. Only what property lists consist of is
 * understood: no attributes but those of <plist>, no entities but the five of XML and numbers, no
 * declarations inside the DOCTYPE. Everything else is an error with its offset. A value is written
 * as JSON while it is read; nesting is bounded, and so is recursion.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"

enum { NAME_MAX_LEN = 16, NUMBER_MAX_LEN = 64 };

struct reader {
    const char *text, *at, *end;
    struct bk_err *err;
};

struct tag {
    char name[NAME_MAX_LEN];
    bool closing, empty; /* </name>, <name/> */
};

static int bad(const struct reader *r, const char *why)
{
    return err_set(r->err, BK_E_INPUT, "offset 0x%zx of the property list: %s",
                   (size_t)(r->at - r->text), why);
}

static bool starts(const struct reader *r, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && *r->at && strchr(" \t\r\n", *r->at))
        r->at++;
}

static int skip_past(struct reader *r, const char *word)
{
    while (r->at < r->end && !starts(r, word))
        r->at++;
    if (r->at == r->end)
        return bad(r, "it ends inside a tag");
    r->at += strlen(word);
    return 0;
}

/* Blanks, comments, and what comes before the first tag. */
static int skip_others(struct reader *r)
{
    for (;;) {
        skip_blanks(r);
        struct reader from = *r;
        bool doctype = starts(r, "<!DOCTYPE");
        const char *end = starts(r, "<!--") ? "-->" : starts(r, "<?") ? "?>" : doctype ? ">" : NULL;
        if (!end)
            return 0;
        if (skip_past(r, end) < 0)
            return -1;
        if (doctype && memchr(from.at, '[', (size_t)(r->at - from.at)))
            return bad(&from, "declarations in the DOCTYPE");
    }
}

static int read_tag(struct reader *r, struct tag *t)
{
    size_t n = 0;
    *t = (struct tag){.closing = false};
    if (r->at == r->end || *r->at != '<')
        return bad(r, "a tag was expected here");
    r->at++;
    t->closing = r->at < r->end && *r->at == '/';
    r->at += t->closing;
    while (r->at < r->end && *r->at >= 'a' && *r->at <= 'z' && n + 1 < sizeof(t->name))
        t->name[n++] = *r->at++;
    if (strcmp(t->name, "plist") == 0 && !t->closing)
        while (r->at < r->end && *r->at != '>')
            r->at++;
    skip_blanks(r);
    t->empty = !t->closing && r->at < r->end && *r->at == '/';
    r->at += t->empty;
    if (!n || r->at == r->end || *r->at != '>')
        return bad(r, "this is no tag of a property list");
    r->at++;
    return 0;
}

static int close_tag(struct reader *r, const char *name)
{
    struct tag t;
    if (skip_others(r) < 0 || read_tag(r, &t) < 0)
        return -1;
    return t.closing && strcmp(t.name, name) == 0 ? 0 : bad(r, "the tags do not match");
}

static void put_utf8(struct buf *out, uint32_t c)
{
    if (c < 0x80) {
        buf_chr(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    buf_chr(out, (char)(first[more] | c >> 6 * more));
    while (more--)
        buf_chr(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* &amp; and the like, or &#65; and &#x41; */
static int read_entity(struct reader *r, struct buf *out)
{
    static const struct {
        const char *word;
        char is;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (starts(r, named[i].word)) {
            buf_chr(out, named[i].is);
            r->at += strlen(named[i].word);
            return 0;
        }
    bool hex = starts(r, "&#x");
    if (!starts(r, "&#"))
        return bad(r, "an unknown entity");
    uint32_t c = 0;
    unsigned digits = 0;
    for (r->at += hex ? 3 : 2; r->at < r->end && *r->at != ';' && digits < 8; r->at++, digits++) {
        int d = digit(*r->at);
        if (d < 0 || (d > 9 && !hex))
            return bad(r, "an unknown entity");
        c = c * (hex ? 16 : 10) + (uint32_t)d;
    }
    if (!digits || r->at == r->end || *r->at != ';' || !c || c > 0x10ffff ||
        (c >= 0xd800 && c < 0xe000))
        return bad(r, "an unknown entity");
    r->at++;
    put_utf8(out, c);
    return 0;
}

/* Text up to the closing tag, which is read as well. */
static int read_text(struct reader *r, const struct tag *t, struct buf *out)
{
    while (!t->empty && r->at < r->end && *r->at != '<') {
        if (!*r->at)
            return bad(r, "a NUL byte");
        if (*r->at != '&')
            buf_chr(out, *r->at++);
        else if (read_entity(r, out) < 0)
            return -1;
    }
    return t->empty ? 0 : close_tag(r, t->name);
}

static int put_number(struct reader *r, const struct tag *t, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    char *end = NULL;
    if (read_text(r, t, &text) < 0)
        return -1;
    if (!buf_ok(&text) || !text.n || text.n > NUMBER_MAX_LEN)
        return bad(r, "this is no number");
    errno = 0;
    if (strcmp(t->name, "integer") == 0) {
        long long whole = strtoll(text.s, &end, strstr(text.s, "0x") ? 16 : 10);
        if (*end || errno)
            return bad(r, "this is no integer");
        buf_fmt(out, "%lld", whole);
        return 0;
    }
    double real = strtod(text.s, &end);
    if (*end || real - real != 0)
        return bad(r, "this is no number");
    buf_fmt(out, "%.17g%s", real,
            real > -1e15 && real < 1e15 && real == (double)(int64_t)real ? ".0" : "");
    return 0;
}

static int put_value(struct reader *r, const struct tag *t, int depth, struct buf *out);

static int put_string(struct reader *r, const struct tag *t, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    if (read_text(r, t, &text) < 0)
        return -1;
    buf_json(out, text.s ? text.s : "", text.n);
    return text.failed ? err_nomem(r->err) : 0;
}

/* The values of an array, or the keys and values of a dictionary. */
static int put_list(struct reader *r, const struct tag *list, int depth, struct buf *out)
{
    bool dict = strcmp(list->name, "dict") == 0;
    buf_chr(out, dict ? '{' : '[');
    for (bool first = true; !list->empty; first = false) {
        struct tag t;
        if (skip_others(r) < 0 || read_tag(r, &t) < 0)
            return -1;
        if (t.closing) {
            if (strcmp(t.name, list->name) != 0)
                return bad(r, "the tags do not match");
            break;
        }
        if (!first)
            buf_chr(out, ',');
        if (dict) {
            if (strcmp(t.name, "key") != 0)
                return bad(r, "a key was expected here");
            if (put_string(r, &t, out) < 0)
                return -1;
            buf_chr(out, ':');
            if (skip_others(r) < 0 || read_tag(r, &t) < 0)
                return -1;
        }
        if (put_value(r, &t, depth + 1, out) < 0)
            return -1;
    }
    buf_chr(out, dict ? '}' : ']');
    return 0;
}

/* Dates and data have no place in JSON, and no meaning as entitlements: null. */
static int put_value(struct reader *r, const struct tag *t, int depth, struct buf *out)
{
    const char *name = t->name;
    if (depth > ENTITLEMENTS_DEPTH)
        return err_set(r->err, BK_E_LIMIT, "the entitlements are nested more than %d deep",
                       ENTITLEMENTS_DEPTH);
    if (t->closing)
        return bad(r, "a value was expected here");
    if (strcmp(name, "dict") == 0 || strcmp(name, "array") == 0)
        return put_list(r, t, depth, out);
    if (strcmp(name, "string") == 0)
        return put_string(r, t, out);
    if (strcmp(name, "integer") == 0 || strcmp(name, "real") == 0)
        return put_number(r, t, out);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
        buf_str(out, name);
        return t->empty ? 0 : close_tag(r, name);
    }
    if (strcmp(name, "data") == 0 || strcmp(name, "date") == 0) {
        OWN(buf) struct buf text = {0};
        buf_str(out, "null");
        return read_text(r, t, &text);
    }
    return bad(r, "this is no tag of a property list");
}

int plist_xml_to_json(const char *bytes, size_t n, struct buf *json, struct bk_err *err)
{
    struct reader r = {bytes, bytes, bytes + n, err};
    struct tag t;
    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        r.at += 3;
    if (skip_others(&r) < 0 || read_tag(&r, &t) < 0)
        return -1;
    bool wrapped = strcmp(t.name, "plist") == 0 && !t.empty && !t.closing;
    if (wrapped && (skip_others(&r) < 0 || read_tag(&r, &t) < 0))
        return -1;
    if (strcmp(t.name, "dict") != 0 || t.closing)
        return err_set(err, BK_E_INPUT, "not a property list that contains a dictionary");
    if (put_value(&r, &t, 0, json) < 0 || (wrapped && close_tag(&r, "plist") < 0))
        return -1;
    while (r.end > r.at && !r.end[-1]) /* signatures may count a NUL */
        r.end--;
    if (skip_others(&r) < 0)
        return -1;
    if (r.at != r.end)
        return bad(&r, "something follows the property list");
    return json->failed ? err_nomem(err) : 0;
}
