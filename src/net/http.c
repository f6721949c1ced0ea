/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A strict HTTP/1 parser (RFC 9112). It accepts one reading of each byte and rejects everything
 * that two implementations might read differently. It allocates nothing: slices point into the
 * input.
 */

#include "net/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/hex.h"

/* ---- bytes ---- */

static bool is_token_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_token_byte((unsigned char)s.s[i]))
            return false;
    return s.n > 0;
}

/* Visible ASCII. A field's value may also have spaces, tabs and bytes above ASCII. */
static bool is_visible(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.s[i] <= ' ' || (unsigned char)s.s[i] == 0x7f)
            return false;
    return s.n > 0;
}

static bool is_value(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.s[i] < ' ' && s.s[i] != '\t') || (unsigned char)s.s[i] == 0x7f)
            return false;
    return true;
}

static struct slice trim(struct slice s)
{
    while (s.n && (*s.s == ' ' || *s.s == '\t')) {
        s.s++;
        s.n--;
    }
    while (s.n && (s.s[s.n - 1] == ' ' || s.s[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool slice_is(struct slice s, const char *word)
{
    return strlen(word) == s.n && strncasecmp(s.s, word, s.n) == 0;
}

/* Takes the next word off a comma-separated list; false at the end. */
static bool next_word(struct slice *list, struct slice *word)
{
    if (!list->n)
        return false;
    const char *comma = memchr(list->s, ',', list->n);
    size_t n = comma ? (size_t)(comma - list->s) : list->n;
    *word = trim((struct slice){list->s, n});
    list->s += comma ? n + 1 : n;
    list->n -= comma ? n + 1 : n;
    return true;
}

static bool list_has(struct slice list, const char *word)
{
    struct slice one;
    while (next_word(&list, &one))
        if (slice_is(one, word))
            return true;
    return false;
}

/* The protocols in an Upgrade field that matter here; a version may follow each. */
static uint8_t read_upgrade(struct slice list)
{
    static const struct {
        const char *begins;
        uint8_t to;
    } known[] = {{"h2", HTTP_TO_H2}, {"HTTP/", HTTP_TO_H2}, {"TLS", HTTP_TO_TLS}};
    struct slice word;
    uint8_t found = 0;
    while (next_word(&list, &word))
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            size_t n = strlen(known[i].begins);
            if (word.n >= n && strncasecmp(word.s, known[i].begins, n) == 0)
                found |= known[i].to;
        }
    return found;
}

bool http_is_method(const char *s, size_t n)
{
    enum { LONGEST = 20 };
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'A' && s[i] <= 'Z') || (i && (s[i] == '-' || s[i] == '_'))))
            return false;
    return n > 0 && n <= LONGEST;
}

/* ---- the request line ---- */

static const char *read_target(struct http_head *h)
{
    struct slice t = h->target;
    h->path = t;
    if (slice_is(h->method, "CONNECT")) {
        h->form = HTTP_AUTHORITY;
        h->named = peer_parse_authority(t.s, t.n, 0, &h->host, &h->port);
        return h->named ? NULL : "CONNECT needs host:port";
    }
    if (t.n == 1 && *t.s == '*') {
        h->form = HTTP_ASTERISK;
        return NULL;
    }
    if (*t.s == '/') {
        h->form = HTTP_ORIGIN;
        return NULL;
    }
    if (t.n < 8 || strncasecmp(t.s, "http://", 7) != 0)
        return "the target is neither a path nor an http:// URL";
    h->form = HTTP_ABSOLUTE;
    size_t n = 7;
    while (n < t.n && !strchr("/?#", t.s[n]))
        n++;
    h->named = peer_parse_authority(t.s + 7, n - 7, 80, &h->host, &h->port);
    h->path = (struct slice){t.s + n, t.n - n};
    return h->named ? NULL : "the target names no host";
}

static const char *read_request_line(struct slice line, struct http_head *h)
{
    const char *one = memchr(line.s, ' ', line.n), *end = line.s + line.n;
    const char *two = one ? memchr(one + 1, ' ', (size_t)(end - one) - 1) : NULL;
    if (!two)
        return "the first line is not a request";
    h->method = (struct slice){line.s, (size_t)(one - line.s)};
    h->target = (struct slice){one + 1, (size_t)(two - one) - 1};
    struct slice version = {two + 1, (size_t)(end - two) - 1};
    if (!http_is_method(h->method.s, h->method.n) || !is_visible(h->target))
        return "the first line is not a request";
    if (version.n != 8 || memcmp(version.s, "HTTP/1.", 7) != 0 ||
        (version.s[7] != '0' && version.s[7] != '1'))
        return "only HTTP/1.0 and HTTP/1.1 can be checked";
    h->minor = (uint8_t)(version.s[7] - '0');
    return read_target(h);
}

/* ---- fields ---- */

static const char *read_length(struct slice v, struct http_head *h)
{
    uint64_t n = 0;
    if (h->framing == HTTP_LENGTH)
        return "more than one Content-Length";
    if (v.n == 0 || v.n > 18)
        return "Content-Length is not a number";
    for (size_t i = 0; i < v.n; i++) {
        if (v.s[i] < '0' || v.s[i] > '9')
            return "Content-Length is not a number";
        n = n * 10 + (uint64_t)(v.s[i] - '0');
    }
    if (h->framing != HTTP_NO_BODY)
        return "both Content-Length and Transfer-Encoding";
    h->framing = HTTP_LENGTH;
    h->length = n;
    return NULL;
}

static const char *read_coding(struct slice v, struct http_head *h)
{
    if (h->framing == HTTP_LENGTH)
        return "both Content-Length and Transfer-Encoding";
    if (h->framing == HTTP_CHUNKED || !slice_is(v, "chunked") || h->minor == 0)
        return "Transfer-Encoding is not chunked";
    h->framing = HTTP_CHUNKED;
    return NULL;
}

/* The ports must agree only if both are given. */
static const char *read_host(struct slice v, struct http_head *h, bool *seen)
{
    struct peer host;
    uint16_t port = 0;
    if (*seen)
        return "more than one Host";
    *seen = true;
    uint16_t fallback = h->form == HTTP_AUTHORITY ? h->port : 80;
    if (!peer_parse_authority(v.s, v.n, fallback, &host, &port))
        return "the Host is invalid";
    if (h->named && h->form != HTTP_AUTHORITY && (!peer_equal(&host, &h->host) || port != h->port))
        return "the Host differs from the host in the first line";
    if (h->named)
        return NULL;
    h->host = host;
    h->port = memchr(v.s, ':', v.n) && port ? port : 0;
    h->named = true;
    return NULL;
}

static const char *read_field(struct slice line, struct http_head *h, bool *host_seen)
{
    const char *colon = memchr(line.s, ':', line.n);
    if (!colon)
        return "a header field has no colon";
    struct slice name = {line.s, (size_t)(colon - line.s)};
    struct slice value = trim((struct slice){colon + 1, line.n - name.n - 1});
    if (!is_token(name) || !is_value(value))
        return "a header field has invalid bytes";
    if (h->nfields == HTTP_FIELDS)
        return "too many header fields";
    h->fields[h->nfields++] = (struct http_field){name, value};
    if (slice_is(name, "Content-Length"))
        return read_length(value, h);
    if (slice_is(name, "Transfer-Encoding"))
        return read_coding(value, h);
    if (slice_is(name, "Host"))
        return read_host(value, h, host_seen);
    if (slice_is(name, "Proxy-Authorization"))
        h->proxy_authorization = value;
    if (slice_is(name, "Connection") || slice_is(name, "Proxy-Connection")) {
        h->close = h->close || list_has(value, "close");
        h->upgrade = h->upgrade || list_has(value, "upgrade");
    }
    if (slice_is(name, "Upgrade"))
        h->upgrade_to |= read_upgrade(value);
    return NULL;
}

/* ---- the header ---- */

/* The next line without its line ending; false if incomplete. */
static bool next_line(const char *data, size_t n, size_t *at, struct slice *line, bool *bad)
{
    const char *end = memchr(data + *at, '\n', n - *at);
    *line = (struct slice){data + *at, 0};
    if (!end)
        return false;
    line->n = (size_t)(end - line->s);
    *at += line->n + 1;
    *bad = line->n == 0 || line->s[line->n - 1] != '\r' || memchr(line->s, '\r', line->n - 1);
    if (!*bad)
        line->n--;
    return true;
}

static enum http_result reject_head(struct http_head *h, const char *why)
{
    h->wrong = why;
    return HTTP_BAD;
}

enum http_result http_head_read(const char *data, size_t n, struct http_head *h)
{
    struct slice line;
    size_t at = 0;
    bool broken = false, host_seen = false;
    h->size = h->nfields = 0;
    h->close = h->upgrade = h->named = false;
    h->framing = HTTP_NO_BODY;
    h->upgrade_to = 0;
    h->length = 0;
    h->port = 0;
    h->proxy_authorization = (struct slice){0};
    h->wrong = NULL;
    for (bool first = true; next_line(data, n, &at, &line, &broken); first = false) {
        if (broken)
            return reject_head(h, "a line does not end in CR LF");
        if (!first && line.n == 0) {
            h->size = at;
            if (h->minor == 1 && !host_seen && h->form != HTTP_AUTHORITY)
                return reject_head(h, "no Host");
            return HTTP_FOUND;
        }
        if (!first && (*line.s == ' ' || *line.s == '\t'))
            return reject_head(h, "a header line is folded");
        const char *why = first ? read_request_line(line, h) : read_field(line, h, &host_seen);
        if (why)
            return reject_head(h, why);
    }
    return n >= HTTP_HEAD_MAX ? reject_head(h, "the header is too long") : HTTP_MORE;
}

/* ---- forwarding ---- */

/* Fields for this hop only, which a proxy must not forward. */
static bool is_for_us(const struct http_head *h, struct slice name)
{
    static const char *const ours[] = {
        "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
        "TE",         "Upgrade"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (slice_is(name, ours[i]))
            return true;
    if (slice_is(name, "Host") || slice_is(name, "Content-Length") ||
        slice_is(name, "Transfer-Encoding"))
        return false;
    for (size_t i = 0; i < h->nfields; i++) {
        char word[64];
        if (!slice_is(h->fields[i].name, "Connection") || name.n >= sizeof(word))
            continue;
        memcpy(word, name.s, name.n);
        word[name.n] = '\0';
        if (list_has(h->fields[i].value, word))
            return true;
    }
    return false;
}

static void add_field(struct buf *out, const struct http_field *f)
{
    buf_add(out, f->name.s, f->name.n);
    buf_str(out, ": ");
    buf_add(out, f->value.s, f->value.n);
    buf_str(out, "\r\n");
}

void http_head_forward(const struct http_head *h, struct buf *out)
{
    buf_add(out, h->method.s, h->method.n);
    buf_chr(out, ' ');
    if (h->form == HTTP_ABSOLUTE && (h->path.n == 0 || *h->path.s != '/'))
        buf_chr(out, '/');
    const char *fragment = memchr(h->path.s, '#', h->path.n);
    buf_add(out, h->path.s, fragment ? (size_t)(fragment - h->path.s) : h->path.n);
    buf_str(out, h->minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
    for (size_t i = 0; i < h->nfields; i++) {
        const struct http_field *f = &h->fields[i];
        if (!is_for_us(h, f->name) || (h->upgrade && slice_is(f->name, "Upgrade")))
            add_field(out, f);
    }
    if (h->upgrade)
        buf_str(out, "Connection: Upgrade\r\n");
    else if (h->close || h->minor == 0)
        buf_str(out, "Connection: close\r\n");
    buf_str(out, "\r\n");
}

/* ---- authentication ---- */

void http_basic(const char *user, const char *password, char out[HTTP_BASIC])
{
    char plain[260];
    int n = snprintf(plain, sizeof(plain), "%.127s:%.127s", user, password);
    char *to = stpcpy(out, "Basic ");
    to[base64_encode(plain, (size_t)n, to)] = '\0';
}

/* ---- answers ---- */

static bool read_status_line(struct slice line, struct http_answer *out, bool *old)
{
    if (line.n < 12 || memcmp(line.s, "HTTP/1.", 7) != 0 || line.s[8] != ' ')
        return false;
    for (int i = 9; i < 12; i++) {
        if (line.s[i] < '0' || line.s[i] > '9')
            return false;
        out->status = (uint16_t)(out->status * 10 + (line.s[i] - '0'));
    }
    *old = line.s[7] == '0';
    return line.n == 12 || line.s[12] == ' ';
}

/* Decides where the body ends: by status, method or fields. */
static void frame_answer(const struct http_head *h, bool head, bool old, struct http_answer *out)
{
    out->close = h->close || old;
    if (head || out->status < 200 || out->status == 204 || out->status == 304)
        return;
    out->framing = h->framing;
    out->length = h->length;
    out->until_close = h->framing == HTTP_NO_BODY;
}

enum http_result http_answer_read(const char *data, size_t n, bool head, struct http_answer *out)
{
    struct http_head h = {.minor = 1};
    struct slice line;
    size_t at = 0;
    bool broken, old = false;
    memset(out, 0, sizeof(*out));
    for (bool first = true; next_line(data, n, &at, &line, &broken); first = false) {
        if (broken || (first && !read_status_line(line, out, &old)))
            return HTTP_BAD;
        if (first)
            continue;
        if (line.n == 0) {
            out->size = at;
            frame_answer(&h, head, old, out);
            return HTTP_FOUND;
        }
        /* only framing matters here; a second Host is the server's problem */
        bool host_seen = false;
        h.nfields = 0;
        if (read_field(line, &h, &host_seen))
            return HTTP_BAD;
    }
    return n >= HTTP_HEAD_MAX ? HTTP_BAD : HTTP_MORE;
}

/* ---- bodies ---- */

enum { CHUNK_SIZE, CHUNK_REST, CHUNK_LF, CHUNK_DATA, CHUNK_CR, CHUNK_END, TRAILER, OVER };

enum { CHUNK_LINE_MAX = 4096 };

void http_body_start(struct http_body *b, uint8_t framing, uint64_t length)
{
    *b = (struct http_body){.framing = framing, .left = length, .state = CHUNK_SIZE};
    if (framing == HTTP_NO_BODY || (framing == HTTP_LENGTH && length == 0))
        b->state = OVER;
}

bool http_body_is_over(const struct http_body *b)
{
    return b->state == OVER;
}

/* Reads a chunk-size line and skips its extensions. */
static bool chunk_size(struct http_body *b, char c)
{
    int v = hex_digit(c);
    if (v >= 0 && b->digits < 15) {
        b->left = b->left << 4 | (uint64_t)v;
        b->digits++;
        return true;
    }
    if (b->digits == 0 || (c != '\r' && c != ';'))
        return false;
    b->state = c == '\r' ? CHUNK_LF : CHUNK_REST;
    b->line = 0;
    return true;
}

static bool chunk_rest(struct http_body *b, char c)
{
    if (c == '\r')
        b->state = CHUNK_LF;
    return ++b->line < CHUNK_LINE_MAX && (c == '\r' || c == '\t' || (unsigned char)c >= ' ') &&
           c != 0x7f;
}

/* Reads trailer fields after the last chunk, up to an empty line. line counts the bytes of the
 * current line; the top bit marks its carriage return. */
static bool trailer(struct http_body *b, char c)
{
    enum { RETURNED = 1u << 31 };
    if (b->line & RETURNED) {
        if (c != '\n')
            return false;
        b->state = b->line == RETURNED ? OVER : TRAILER;
        b->line = 0;
        return true;
    }
    if (c == '\r') {
        b->line |= RETURNED;
        return true;
    }
    return ++b->line < CHUNK_LINE_MAX && (c == '\t' || (unsigned char)c >= ' ') && c != 0x7f;
}

static bool chunk_step(struct http_body *b, char c)
{
    switch (b->state) {
    case CHUNK_SIZE:
        return chunk_size(b, c);
    case CHUNK_REST:
        return chunk_rest(b, c);
    case CHUNK_LF:
        b->state = b->left ? CHUNK_DATA : TRAILER;
        b->line = 0;
        return c == '\n';
    case CHUNK_CR:
        b->state = CHUNK_END;
        return c == '\r';
    case CHUNK_END:
        b->state = CHUNK_SIZE;
        b->digits = 0;
        b->left = 0;
        return c == '\n';
    default:
        return trailer(b, c);
    }
}

static size_t take_data(struct http_body *b, size_t n)
{
    if (n > b->left)
        n = (size_t)b->left;
    b->left -= n;
    return n;
}

ssize_t http_body_next(struct http_body *b, const char *data, size_t n, bool *inside)
{
    size_t used = 0;
    *inside = b->framing == HTTP_LENGTH || b->state == CHUNK_DATA;
    if (b->framing == HTTP_LENGTH)
        return http_body_take(b, data, n);
    if (*inside)
        return http_body_take(b, data, n < b->left ? n : (size_t)b->left);
    while (used < n && b->state != OVER && b->state != CHUNK_DATA)
        if (!chunk_step(b, data[used++]))
            return -1;
    return (ssize_t)used;
}

ssize_t http_body_take(struct http_body *b, const char *data, size_t n)
{
    size_t used = 0;
    if (b->framing == HTTP_LENGTH) {
        used = take_data(b, n);
        if (b->left == 0)
            b->state = OVER;
        return (ssize_t)used;
    }
    while (used < n && b->state != OVER) {
        if (b->state == CHUNK_DATA) {
            used += take_data(b, n - used);
            if (b->left == 0)
                b->state = CHUNK_CR;
        } else if (!chunk_step(b, data[used++])) {
            return -1;
        }
    }
    return (ssize_t)used;
}
