/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The canonical request: method, path, query, signed fields, their names and the payload's hash,
 * a line each. Query parameters are decoded, encoded in the one way that AWS prescribes, and
 * sorted. Fields lose space around and inside them; those of the same name become one.
 */

#include "net/sigv4.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/own.h"

static const char algorithm[] = "AWS4-HMAC-SHA256";

static bool is_text(struct slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.s, text, s.n) == 0;
}

static struct slice trim(struct slice s)
{
    while (s.n && (*s.s == ' ' || *s.s == '\t'))
        s.s++, s.n--;
    while (s.n && (s.s[s.n - 1] == ' ' || s.s[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* The part before the first c; the rest, without it, stays in *s. */
static struct slice cut(struct slice *s, char c)
{
    if (!s->n) /* and perhaps nothing to point to */
        return *s;
    const char *at = memchr(s->s, c, s->n);
    struct slice before = {s->s, at ? (size_t)(at - s->s) : s->n};
    size_t skip = before.n + (at ? 1 : 0);
    *s = (struct slice){s->s + skip, s->n - skip};
    return before;
}

/* ---- fields ---- */

/* Returns how many fields have the name; *out is the last of them. */
static size_t find_field(const struct http_head *h, struct slice name, struct slice *out)
{
    size_t n = 0;
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].name.n == name.n &&
            strncasecmp(h->fields[i].name.s, name.s, name.n) == 0) {
            *out = h->fields[i].value;
            n++;
        }
    return n;
}

static size_t find_named(const struct http_head *h, const char *name, struct slice *out)
{
    return find_field(h, (struct slice){name, strlen(name)}, out);
}

static bool is_hex(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.s[i] >= '0' && s.s[i] <= '9') || (s.s[i] >= 'a' && s.s[i] <= 'f')))
            return false;
    return s.n == SHA256_HEX;
}

/* 20150830T123600Z */
static bool is_time(struct slice s)
{
    for (size_t i = 0; i < s.n && s.n == 16; i++)
        if (i == 8 ? s.s[i] != 'T' : i == 15 ? s.s[i] != 'Z' : s.s[i] < '0' || s.s[i] > '9')
            return false;
    return s.n == 16;
}

/* "ID/date/region/service/aws4_request" */
static const char *read_credential(struct slice s, struct sigv4 *out)
{
    out->id = cut(&s, '/');
    out->scope = s;
    struct slice date = cut(&s, '/'), region = cut(&s, '/'), service = cut(&s, '/');
    if (!out->id.n || date.n != 8 || !region.n || !service.n || !is_text(s, "aws4_request"))
        return "the AWS credential has another form";
    return out->time.n && memcmp(out->time.s, date.s, 8) == 0 ? NULL
                                                              : "the AWS signature has no date";
}

static const char *read_payload(const struct http_head *h, struct sigv4 *out)
{
    size_t n = find_named(h, "x-amz-content-sha256", &out->payload);
    if (n > 1)
        return "the AWS payload's hash is there twice";
    if (n == 0 || is_hex(out->payload) || is_text(out->payload, "UNSIGNED-PAYLOAD") ||
        is_text(out->payload, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
        return NULL;
    return "AWS signatures of single chunks cannot be made anew";
}

/* Names are sorted, in small letters, each once; host is among them. */
static const char *check_names(struct slice names)
{
    static const char wrong[] = "the AWS signature's list of fields has another form";
    struct slice before = {0};
    bool host = false;
    while (names.n) {
        struct slice one = cut(&names, ';');
        size_t least = one.n < before.n ? one.n : before.n;
        int order = least ? memcmp(before.s, one.s, least) : 0;
        if (!one.n || order > 0 || (order == 0 && before.n >= one.n))
            return wrong;
        for (size_t i = 0; i < one.n; i++)
            if (one.s[i] >= 'A' && one.s[i] <= 'Z')
                return wrong;
        host = host || is_text(one, "host");
        before = one;
    }
    return host ? NULL : "the AWS signature is not for its host";
}

/* Credential=…, SignedHeaders=…, Signature=… in any order, each once. */
static const char *read_authorization(const struct http_head *h, struct sigv4 *out)
{
    static const char *const names[] = {"Credential", "SignedHeaders", "Signature"};
    struct slice found[3] = {{0}}, rest = {0}, word;
    if (find_named(h, "authorization", &rest) != 1)
        return "more than one Authorization";
    rest = trim(rest);
    if (!is_text(cut(&rest, ' '), algorithm))
        return "the AWS signature is of another kind";
    while (rest.n) {
        word = cut(&rest, ',');
        word = trim(word);
        struct slice name = cut(&word, '=');
        size_t i = 0;
        while (i < 3 && !is_text(name, names[i]))
            i++;
        if (i == 3 || found[i].n || !word.n)
            return "the AWS signature has another form";
        found[i] = word;
    }
    if (find_named(h, "x-amz-date", &out->time) != 1 || !is_time(out->time))
        return "the AWS signature has no date";
    out->names = found[1];
    out->signature = found[2];
    const char *why = read_credential(found[0], out);
    return why ? why : read_payload(h, out);
}

/* ---- queries ---- */

struct parameter {
    struct slice name, value; /* as they were sent */
};

enum { PARAMETERS_MAX = 512 };

static struct slice query_of(const struct http_head *h)
{
    struct slice path = h->path;
    cut(&path, '?');
    return path;
}

static bool is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-_.~", c));
}

static void add_encoded(struct buf *out, char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char escape[3] = {'%', digits[(unsigned char)c >> 4], digits[c & 15]};
    if (is_unreserved(c))
        buf_chr(out, c);
    else
        buf_add(out, escape, 3);
}

/* One decoded byte; *at moves on. Returns -1 for a broken escape. */
static int next_byte(struct slice s, size_t *at)
{
    if (s.s[*at] != '%')
        return (unsigned char)s.s[(*at)++];
    int high = *at + 2 < s.n ? hex_digit(s.s[*at + 1]) : -1;
    int low = high >= 0 ? hex_digit(s.s[*at + 2]) : -1;
    *at += 3;
    return low < 0 ? -1 : high << 4 | low;
}

static bool add_canonical(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        int c = next_byte(s, &i);
        if (c < 0)
            return false;
        add_encoded(out, (char)c);
    }
    return true;
}

static bool decode(struct sigv4 *s, struct slice text, struct slice *out)
{
    char *to = s->text + s->ntext;
    size_t n = 0;
    for (size_t i = 0; i < text.n; n++) {
        int c = next_byte(text, &i);
        if (c < ' ' || c > '~' || s->ntext + n == sizeof(s->text))
            return false;
        to[n] = (char)c;
    }
    s->ntext += n;
    *out = (struct slice){to, n};
    return true;
}

static const char *read_query(const struct http_head *h, struct sigv4 *out)
{
    static const char *const names[] = {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date",
                                        "X-Amz-SignedHeaders", "X-Amz-Signature"};
    enum { ALGORITHM, CREDENTIAL, DATE, NAMES, SIGNATURE, KNOWN };
    struct slice found[KNOWN] = {{0}}, rest = query_of(h);
    while (rest.n) {
        struct slice value = cut(&rest, '&'), name = cut(&value, '=');
        for (size_t i = 0; i < KNOWN; i++) {
            if (!is_text(name, names[i]))
                continue;
            if (found[i].s)
                return "the AWS signature has a parameter twice";
            if (i == SIGNATURE)
                found[i] = value;
            else if (!decode(out, value, &found[i]))
                return "the AWS signature has another form";
        }
    }
    if (!found[ALGORITHM].s || !is_text(found[ALGORITHM], algorithm))
        return "the AWS signature is of another kind";
    out->time = found[DATE];
    out->names = found[NAMES];
    out->signature = found[SIGNATURE];
    if (!is_time(out->time))
        return "the AWS signature has no date";
    const char *why = read_credential(found[CREDENTIAL], out);
    return why ? why : read_payload(h, out);
}

const char *sigv4_read(const struct http_head *h, bool query, struct sigv4 *out)
{
    *out = (struct sigv4){.query = query};
    const char *why = query ? read_query(h, out) : read_authorization(h, out);
    if (why)
        return why;
    if (!is_hex(out->signature))
        return "the AWS signature has another form";
    return check_names(out->names);
}

/* ---- the canonical request ---- */

static void add_path(const struct http_head *h, enum sigv4_path how, struct buf *out)
{
    struct slice rest = h->path, path = cut(&rest, '?');
    if (!path.n)
        buf_chr(out, '/');
    for (size_t i = 0; i < path.n; i++)
        if (how == SIGV4_AS_SENT || path.s[i] == '/')
            buf_chr(out, path.s[i]);
        else
            add_encoded(out, path.s[i]);
    buf_chr(out, '\n');
}

static int compare(struct slice a, struct slice b)
{
    size_t least = a.n < b.n ? a.n : b.n;
    int order = least ? memcmp(a.s, b.s, least) : 0;
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int compare_parameters(const void *a, const void *b)
{
    const struct parameter *one = a, *other = b;
    int order = compare(one->name, other->name);
    return order ? order : compare(one->value, other->value);
}

/* Appends both to text, encoded, and notes where. */
static bool keep_parameter(struct buf *text, struct slice name, struct slice value, size_t at[3])
{
    at[0] = text->n;
    bool ok = add_canonical(text, name);
    at[1] = text->n;
    ok = ok && add_canonical(text, value);
    at[2] = text->n;
    return ok;
}

static const char *add_query(const struct http_head *h, bool presigned, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    size_t places[PARAMETERS_MAX][3], n = 0;
    struct parameter list[PARAMETERS_MAX];
    for (struct slice rest = query_of(h); rest.n;) {
        struct slice value = cut(&rest, '&'), name = cut(&value, '=');
        if (presigned && is_text(name, "X-Amz-Signature"))
            continue;
        if (n == PARAMETERS_MAX || !keep_parameter(&text, name, value, places[n]))
            return "the query has another form than AWS's";
        n += places[n][2] > places[n][0]; /* nothing between two ampersands */
    }
    if (!buf_ok(&text))
        return "out of memory";
    for (size_t i = 0; i < n; i++)
        list[i] = (struct parameter){{text.s + places[i][0], places[i][1] - places[i][0]},
                                     {text.s + places[i][1], places[i][2] - places[i][1]}};
    qsort(list, n, sizeof(*list), compare_parameters);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_chr(out, '&');
        buf_add(out, list[i].name.s, list[i].name.n);
        buf_chr(out, '=');
        buf_add(out, list[i].value.s, list[i].value.n);
    }
    buf_chr(out, '\n');
    return NULL;
}

static void add_value(struct slice value, struct buf *out)
{
    value = trim(value);
    for (size_t i = 0; i < value.n; i++)
        if (value.s[i] != ' ' || value.s[i - 1] != ' ')
            buf_chr(out, value.s[i]);
}

static const char *add_fields(const struct http_head *h, struct slice names, struct buf *out)
{
    while (names.n) {
        struct slice name = cut(&names, ';'), value;
        if (!find_field(h, name, &value))
            return "a field that the AWS signature is for is missing";
        buf_add(out, name.s, name.n);
        buf_chr(out, ':');
        bool first = true;
        for (size_t i = 0; i < h->nfields; i++) {
            if (h->fields[i].name.n != name.n ||
                strncasecmp(h->fields[i].name.s, name.s, name.n) != 0)
                continue;
            if (!first)
                buf_chr(out, ',');
            first = false;
            add_value(h->fields[i].value, out);
        }
        buf_chr(out, '\n');
    }
    return NULL;
}

const char *sigv4_canonical(const struct http_head *h, const struct sigv4 *s, enum sigv4_path how,
                            struct slice payload, struct buf *out)
{
    if (memchr(h->path.s, '#', h->path.n))
        return "the path has another form than AWS's";
    buf_add(out, h->method.s, h->method.n);
    buf_chr(out, '\n');
    add_path(h, how, out);
    const char *why = add_query(h, s->query, out);
    why = why ? why : add_fields(h, s->names, out);
    buf_chr(out, '\n');
    buf_add(out, s->names.s, s->names.n);
    buf_chr(out, '\n');
    buf_add(out, payload.s, payload.n);
    return why || buf_ok(out) ? why : "out of memory";
}

/* ---- signatures ---- */

/* The key for a day, a region and a service. */
static bool derive(const char *key, size_t nkey, struct slice scope, uint8_t out[SHA256_BYTES])
{
    char first[SIGV4_TEXT + 8] = "AWS4";
    if (nkey > SIGV4_TEXT)
        return false;
    memcpy(first + 4, key, nkey);
    struct slice part = cut(&scope, '/');
    sha256_hmac(first, nkey + 4, part.s, part.n, out);
    bytes_wipe(first, sizeof(first));
    while (scope.n) {
        part = cut(&scope, '/');
        sha256_hmac(out, SHA256_BYTES, part.s, part.n, out);
    }
    return true;
}

const char *sigv4_sign(const struct http_head *h, const struct sigv4 *s, enum sigv4_path how,
                       struct slice payload, const char *key, size_t nkey, char out[SHA256_HEX + 1])
{
    OWN(buf) struct buf request = {0}, text = {0};
    char hash[SHA256_HEX + 1];
    uint8_t derived[SHA256_BYTES], signature[SHA256_BYTES];
    const char *why = sigv4_canonical(h, s, how, payload, &request);
    if (why)
        return why;
    sha256_hex(request.s, request.n, hash);
    buf_fmt(&text, "%s\n%.*s\n%.*s\n%s", algorithm, (int)s->time.n, s->time.s, (int)s->scope.n,
            s->scope.s, hash);
    if (!buf_ok(&text) || !derive(key, nkey, s->scope, derived))
        return "out of memory";
    sha256_hmac(derived, sizeof(derived), text.s, text.n, signature);
    sha256_write_hex(signature, out);
    return NULL;
}
