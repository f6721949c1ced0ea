/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Base64 of a text that contains the secret depends on where it starts, modulo three. For each of
 * these, the characters that depend on the secret alone are one form.
 */

#include "net/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bytes.h"

extern char **environ; /* not every C library declares it */

/* ---- forms ---- */

static const char base64[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

/* The characters of base64 that depend on nothing but s, if it starts at this place of three. */
static size_t write_base64(const char *s, size_t n, unsigned place, const char *letters, char *out)
{
    size_t bits = n * 8, used = 0;
    size_t first = (6 - place * 8 % 6) % 6; /* what is before it shares a character with it */
    for (size_t bit = first; bit + 6 <= bits; bit += 6) {
        unsigned at = (unsigned)(bit / 8), shift = (unsigned)(bit % 8);
        unsigned two = (unsigned)(uint8_t)s[at] << 8 | (at + 1 < n ? (uint8_t)s[at + 1] : 0);
        out[used++] = letters[two >> (10 - shift) & 63];
    }
    return used;
}

static bool is_plain_in_url(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-_.~", c));
}

static size_t write_url(const char *s, size_t n, const char *digits, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_plain_in_url(s[i])) {
            out[used++] = s[i];
            continue;
        }
        out[used++] = '%';
        out[used++] = digits[(uint8_t)s[i] >> 4];
        out[used++] = digits[s[i] & 15];
    }
    return used;
}

/* more: characters that some writers escape besides: slashes, or those of HTML. */
static size_t write_json(const char *s, size_t n, const char *more, char *out)
{
    static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *escape = s[i] ? strchr(plain, s[i]) : NULL;
        if (escape) {
            out[used++] = '\\';
            out[used++] = letters[escape - plain];
        } else if (s[i] == '/' && *more == '/') {
            out[used++] = '\\';
            out[used++] = '/';
        } else if (s[i] && strchr(more, s[i])) {
            used += (size_t)snprintf(out + used, 7, "\\u%04x", (unsigned)(uint8_t)s[i]);
        } else {
            out[used++] = s[i];
        }
    }
    return used;
}

static size_t write_hex(const char *s, size_t n, const char *digits, char *out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[(uint8_t)s[i] >> 4];
        out[2 * i + 1] = digits[s[i] & 15];
    }
    return 2 * n;
}

/* Clients write the ones before HEX. A form is at most so many times as long as the secret. */
enum {
    PLAIN,
    URL_UPPER,
    URL_LOWER,
    JSON,
    JSON_SLASHES,
    JSON_HTML,
    HEX,
    HEX_UPPER,
    BASE64,
    FORMS = BASE64 + 6,
    FORM_TIMES = 6
};

static size_t write_form(unsigned form, const char *s, size_t n, char *out)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    switch (form) {
    case PLAIN:
        memcpy(out, s, n);
        return n;
    case URL_UPPER:
    case URL_LOWER:
        return write_url(s, n, form == URL_UPPER ? upper : lower, out);
    case JSON:
    case JSON_SLASHES:
    case JSON_HTML:
        return write_json(s, n, form == JSON ? "" : form == JSON_SLASHES ? "/" : "<>&\'", out);
    case HEX:
    case HEX_UPPER:
        return write_hex(s, n, form == HEX ? lower : upper, out);
    default:
        return write_base64(s, n, (form - BASE64) % 3, base64[(form - BASE64) / 3], out);
    }
}

static bool is_known(const struct secrets *s, unsigned which, const char *value, size_t n)
{
    for (size_t i = 0; i < s->nforms; i++)
        if (s->forms[i].which == which && s->forms[i].n == n &&
            memcmp(s->forms[i].value, value, n) == 0)
            return true;
    return false;
}

static void note_start(uint8_t *starts, const char *text)
{
    unsigned two = secrets_two_bytes(text);
    starts[two >> 3] |= (uint8_t)(1u << (two & 7));
}

static int add_form(struct secrets *s, bool inserted, const char *value, const char *fake, size_t n)
{
    struct secret_form *grown = realloc(s->forms, (s->nforms + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    s->forms = grown;
    struct secret_form *f = &grown[s->nforms];
    *f = (struct secret_form){malloc(n), malloc(n), n, (unsigned)s->n, inserted};
    s->nforms++;
    if (!f->value || !f->fake)
        return -1;
    memcpy(f->value, value, n);
    memcpy(f->fake, fake, n);
    note_start(s->starts[SECRETS_HIDE], value);
    if (inserted)
        note_start(s->starts[SECRETS_INSERT], fake);
    s->longest = n > s->longest ? n : s->longest;
    return 0;
}

int secrets_add(struct secrets *s, const struct secret *one)
{
    enum { ROOM = FORM_TIMES * SECRET_BYTES + 1 };
    char *room = malloc(2 * ROOM), *fake = room ? room + ROOM : NULL;
    int err = room && s->n < SECRETS_MAX && one->n <= SECRET_BYTES ? 0 : -1;
    for (unsigned i = 0; i < FORMS && err == 0; i++) {
        size_t n = write_form(i, one->value, one->n, room);
        write_form(i, one->fake, one->n, fake);
        if (!is_known(s, (unsigned)s->n, room, n))
            err = add_form(s, i < HEX, room, fake, n);
    }
    if (room)
        bytes_wipe(room, ROOM);
    free(room);
    if (err == 0)
        s->at[s->n++] = *one;
    return err;
}

int secrets_add_pair(struct secrets *s, size_t id, size_t key)
{
    if (s->npairs == SECRETS_PAIRS || id >= s->n || key >= s->n)
        return -1;
    s->pairs[s->npairs++] = (struct secrets_pair){(uint8_t)id, (uint8_t)key};
    return 0;
}

static void forget_variables(const struct secret *one)
{
    for (char **e = environ; e && *e; e++)
        for (char *at = *e; (at = memmem(at, strlen(at), one->value, one->n));)
            memset(at, '*', one->n);
}

void secrets_forget(struct secrets *s)
{
    for (size_t i = 0; i < s->n; i++) {
        forget_variables(&s->at[i]);
        bytes_wipe((char *)s->at[i].value, s->at[i].n);
    }
    for (size_t i = 0; i < s->nforms; i++)
        bytes_wipe(s->forms[i].value, s->forms[i].n);
}

void secrets_free(struct secrets *s)
{
    for (size_t i = 0; i < s->nforms; i++) {
        bytes_wipe(s->forms[i].value, s->forms[i].n);
        free(s->forms[i].value);
        free(s->forms[i].fake);
    }
    free(s->forms);
    *s = (struct secrets){0};
}

/* ---- hosts and paths ---- */

bool secret_place_read(const char *text, struct arena *a, struct secret_place *out)
{
    const char *colon = strrchr(text, ':');
    char *name = arena_strndup(a, text, colon ? (size_t)(colon - text) : strlen(text));
    *out = (struct secret_place){.host = name, .port = colon ? (uint16_t)atoi(colon + 1) : 0};
    return name != NULL;
}

static bool is_host(const struct secret_place *p, const struct peer *host, uint16_t port)
{
    size_t n = strlen(p->host);
    if (p->port && p->port != port)
        return false;
    if (p->host[0] == '*' && p->host[1] == '.')
        return host->len > n - 1 && strcasecmp(host->name + host->len - (n - 1), p->host + 1) == 0;
    return strcasecmp(host->name, p->host) == 0;
}

static bool is_path(const struct secret_place *p, const struct request *r)
{
    size_t n = p->path ? strlen(p->path) : 0;
    for (size_t i = 0; i < r->npaths && p->path; i++)
        if (r->paths[i].n < n || (!p->below && r->paths[i].n > n) ||
            memcmp(r->paths[i].s, p->path, n) != 0)
            return false;
    return true;
}

static uint32_t find(const struct secrets *s, const struct peer *host, uint16_t port,
                     const struct request *r)
{
    uint32_t found = 0;
    for (size_t i = 0; s && i < s->n; i++)
        for (size_t k = 0; k < s->at[i].nplaces; k++)
            if (is_host(&s->at[i].places[k], host, port) && (!r || is_path(&s->at[i].places[k], r)))
                found |= 1u << i;
    return found;
}

uint32_t secrets_for_host(const struct secrets *s, const struct peer *host, uint16_t port)
{
    return find(s, host, port, NULL);
}

uint32_t secrets_for_request(const struct secrets *s, const struct peer *host, uint16_t port,
                             const struct request *r)
{
    return find(s, host, port, r);
}

/* ---- requests ---- */

uint32_t secrets_in(const struct secrets *s, uint32_t which, unsigned part)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (!(s->at[i].parts & part))
            which &= ~(1u << i);
    return which;
}

static void insert(const struct secrets *s, uint32_t which, char *text, size_t n)
{
    secrets_replace(s, which, SECRETS_INSERT, text, n);
}

static int from_base64(char c)
{
    const char *found = c ? strchr(base64[0], c) : NULL;
    return found ? (int)(found - base64[0]) : -1;
}

/* Returns the decoded length, or 0 for what is no base64. */
static size_t decode(const char *s, size_t n, char *out)
{
    size_t used = 0;
    unsigned bits = 0, have = 0;
    while (n && s[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        int v = from_base64(s[i]);
        if (v < 0)
            return 0;
        bits = bits << 6 | (unsigned)v;
        have += 6;
        if (have >= 8)
            out[used++] = (char)(bits >> (have -= 8));
    }
    return used;
}

/* In place: as long as before. Padding stays where it is. */
static void encode(const char *s, size_t n, char *out)
{
    unsigned bits = 0, have = 0;
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | (uint8_t)s[i];
        have += 8;
        while (have >= 6)
            *out++ = base64[0][bits >> (have -= 6) & 63];
    }
    if (have)
        *out = base64[0][bits << (6 - have) & 63];
}

static bool begins(const char *s, size_t n, const char *word)
{
    return n >= strlen(word) && strncasecmp(s, word, strlen(word)) == 0;
}

static void insert_basic(const struct secrets *s, uint32_t which, char *line, size_t n)
{
    char plain[HTTP_HEAD_MAX];
    char *colon = memchr(line, ':', n), *end = line + n;
    char *at = colon ? colon + 1 : end;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (!begins(at, (size_t)(end - at), "basic "))
        return;
    for (at += 6; at < end && *at == ' ';)
        at++;
    while (end > at && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    size_t size = decode(at, (size_t)(end - at), plain);
    insert(s, which, plain, size);
    encode(plain, size, at);
}

/* A line of the header, in out from `from` on. */
static void insert_line(const struct secrets *s, uint32_t which, struct buf *out, size_t from,
                        bool first)
{
    char *line = out->s + from;
    size_t n = out->n - from;
    char *at = first ? memchr(line, '?', n) : memchr(line, ':', n);
    if (!at)
        return;
    which = secrets_in(s, which, first ? SECRET_IN_QUERY : SECRET_IN_HEADER);
    insert(s, which, at, n - (size_t)(at - line));
    if (begins(line, n, "authorization:"))
        insert_basic(s, which, line, n);
}

static bool is_named(const char *line, size_t n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins(line, n, names[i]))
            return true;
    return false;
}

/* Encodings could hide a secret in the answer, and ranges divide it. */
static bool hides_answers(const char *line, size_t n, bool ranges)
{
    static const char *const encodings[] = {"accept-encoding:", "a-im:", "te:", "want-digest:"};
    static const char *const parts[] = {"range:", "if-range:", "request-range:", "x-range:"};
    return is_named(line, n, encodings, 4) || (!ranges && is_named(line, n, parts, 4));
}

void secrets_write_head(const struct secrets *s, uint32_t which, bool ranges, const char *head,
                        size_t n, struct buf *out)
{
    for (size_t at = 0; at < n;) {
        const char *line = head + at, *end = memchr(line, '\n', n - at);
        size_t size = end ? (size_t)(end - line) + 1 : n - at, from = out->n;
        bool first = at == 0, last = size <= 2;
        at += size;
        if (last)
            buf_str(out, "Accept-Encoding: identity\r\n");
        else if (hides_answers(line, size, ranges))
            continue;
        buf_add(out, line, size);
        if (!buf_ok(out))
            return;
        if (!last && !begins(line, size, "host:"))
            insert_line(s, which, out, from, first);
    }
}
