/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A placeholder is as long as its secret, and differs only in letters and digits. So escapes of
 * both have the same length, too, and replacing one by the other changes no framing.
 *
 * Base64 of a text that contains the secret depends on where it starts, modulo three. For each of
 * these, the characters that depend on the secret alone are one form.
 */

#include "net/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- placeholders ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t count_changing(const char *s, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += is_digit(s[i]) || is_letter(s[i]);
    return found;
}

/* "ghp_", "sk-ant-": programs look at it. */
static size_t prefix_of(const char *s, size_t n)
{
    enum { LONGEST = 12 };
    size_t end = 0;
    for (size_t i = 0; i < n && i < LONGEST; i++)
        if (s[i] == '_' || s[i] == '-')
            end = i + 1;
    return count_changing(s + end, n - end) >= 2 * SECRET_LEAST ? end : 0;
}

static bool randomize(char *out, size_t n)
{
    uint8_t random[256];
    for (size_t i = 0; i < n; i++) {
        if (i % sizeof(random) == 0 && getentropy(random, sizeof(random)) < 0)
            return false;
        uint8_t r = random[i % sizeof(random)];
        if (is_digit(out[i]))
            out[i] = (char)('0' + r % 10);
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)('a' + r % 26);
        else if (is_letter(out[i]))
            out[i] = (char)('A' + r % 26);
    }
    return true;
}

bool secret_fake(const char *value, size_t n, char *out)
{
    size_t prefix = prefix_of(value, n);
    if (count_changing(value, n) < SECRET_LEAST || n > SECRET_BYTES)
        return false;
    for (int tries = 0; tries < 8; tries++) {
        memcpy(out, value, n);
        if (!randomize(out + prefix, n - prefix))
            return false;
        if (memcmp(out, value, n) != 0)
            return true;
    }
    return false;
}

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
    return is_digit(c) || is_letter(c) || c == '-' || c == '_' || c == '.' || c == '~';
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

/* slashes: as some writers escape them. */
static size_t write_json(const char *s, size_t n, bool slashes, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\' || (slashes && s[i] == '/'))
            out[used++] = '\\';
        out[used++] = s[i];
    }
    return used;
}

enum { PLAIN, URL_UPPER, URL_LOWER, JSON, JSON_SLASHES, HEX, BASE64, FORMS = BASE64 + 6 };

static size_t write_form(unsigned form, const char *s, size_t n, char *out)
{
    switch (form) {
    case PLAIN:
        memcpy(out, s, n);
        return n;
    case URL_UPPER:
        return write_url(s, n, "0123456789ABCDEF", out);
    case URL_LOWER:
        return write_url(s, n, "0123456789abcdef", out);
    case JSON:
    case JSON_SLASHES:
        return write_json(s, n, form == JSON_SLASHES, out);
    case HEX:
        for (size_t i = 0; i < n; i++)
            snprintf(out + 2 * i, 3, "%02x", (uint8_t)s[i]);
        return 2 * n;
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

static unsigned two_bytes(const char *s)
{
    return (unsigned)(uint8_t)s[0] | (unsigned)(uint8_t)s[1] << 8;
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
    s->starts[two_bytes(value) >> 3] |= (uint8_t)(1u << (two_bytes(value) & 7));
    s->longest = n > s->longest ? n : s->longest;
    return 0;
}

int secrets_add(struct secrets *s, const struct secret *one)
{
    char *room = malloc(6 * SECRET_BYTES + 2), *fake = room ? room + 3 * SECRET_BYTES + 1 : NULL;
    int err = room && s->n < SECRETS_MAX && one->n <= SECRET_BYTES ? 0 : -1;
    for (unsigned i = 0; i < FORMS && err == 0; i++) {
        size_t n = write_form(i, one->value, one->n, room);
        write_form(i, one->fake, one->n, fake);
        if (!is_known(s, (unsigned)s->n, room, n))
            err = add_form(s, i < HEX, room, fake, n);
    }
    free(room);
    if (err == 0)
        s->at[s->n++] = *one;
    return err;
}

void secrets_free(struct secrets *s)
{
    for (size_t i = 0; i < s->nforms; i++) {
        free(s->forms[i].value);
        free(s->forms[i].fake);
    }
    free(s->forms);
    *s = (struct secrets){0};
}

/* ---- hosts and paths ---- */

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

static void insert(const struct secrets *s, uint32_t which, char *text, size_t n)
{
    for (size_t i = 0; i < s->nforms; i++) {
        const struct secret_form *f = &s->forms[i];
        char *at = text, *end = text + n;
        while (f->inserted && which >> f->which & 1 &&
               (at = memmem(at, (size_t)(end - at), f->fake, f->n))) {
            memcpy(at, f->value, f->n);
            at += f->n;
        }
    }
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
    insert(s, which, at, n - (size_t)(at - line));
    if (begins(line, n, "authorization:"))
        insert_basic(s, which, line, n);
}

void secrets_write_head(const struct secrets *s, uint32_t which, const char *head, size_t n,
                        struct buf *out)
{
    for (size_t at = 0; at < n;) {
        const char *line = head + at, *end = memchr(line, '\n', n - at);
        size_t size = end ? (size_t)(end - line) + 1 : n - at, from = out->n;
        bool first = at == 0, last = size <= 2;
        at += size;
        if (last)
            buf_str(out, "Accept-Encoding: identity\r\n");
        else if (begins(line, size, "accept-encoding:") || begins(line, size, "range:") ||
                 begins(line, size, "if-range:") || begins(line, size, "te:"))
            continue;
        buf_add(out, line, size);
        if (!buf_ok(out))
            return;
        if (!last && !begins(line, size, "host:"))
            insert_line(s, which, out, from, first);
    }
}

/* ---- answers ---- */

static const struct secret_form *form_at(const struct secrets *s, uint32_t which, const char *text,
                                         size_t n)
{
    for (size_t i = 0; i < s->nforms; i++)
        if (which >> s->forms[i].which & 1 && s->forms[i].n <= n &&
            memcmp(s->forms[i].value, text, s->forms[i].n) == 0)
            return &s->forms[i];
    return NULL;
}

void secrets_hide(const struct secrets *s, uint32_t which, char *text, size_t n)
{
    for (size_t at = 0; at + 1 < n;) {
        unsigned two = two_bytes(text + at);
        bool may = s->starts[two >> 3] >> (two & 7) & 1;
        const struct secret_form *f = may ? form_at(s, which, text + at, n - at) : NULL;
        if (f)
            memcpy(text + at, f->fake, f->n);
        at += f ? f->n : 1;
    }
}

void secrets_answer_add(struct secrets_answer *a, const char *data, size_t n, bool body)
{
    char marks[1024];
    memset(marks, body, sizeof(marks));
    buf_add(&a->raw, data, n);
    for (size_t left = n; left;) {
        size_t part = left < sizeof(marks) ? left : sizeof(marks);
        buf_add(&a->marks, marks, part);
        left -= part;
    }
}

/* How many of the last bytes may be the start of a form. */
static size_t count_open(const struct secrets *s, uint32_t which, const char *text, size_t n)
{
    for (size_t k = n + 1 < s->longest ? n : s->longest - 1; k; k--)
        for (size_t i = 0; i < s->nforms; i++)
            if (which >> s->forms[i].which & 1 && s->forms[i].n > k &&
                memcmp(s->forms[i].value, text + n - k, k) == 0)
                return k;
    return 0;
}

/* A body without its framing, hidden, and put back. *open: how many of its last bytes may belong to
 * a secret that goes on. */
static bool hide_body(const struct secrets *s, uint32_t which, struct secrets_answer *a,
                      size_t *open)
{
    size_t n = 0, at = 0;
    char *body = malloc(a->raw.n);
    if (!body)
        return false;
    for (size_t i = 0; i < a->raw.n; i++)
        if (a->marks.s[i])
            body[n++] = a->raw.s[i];
    secrets_hide(s, which, body, n);
    for (size_t i = 0; i < a->raw.n; i++)
        if (a->marks.s[i])
            a->raw.s[i] = body[at++];
    *open = count_open(s, which, body, n);
    free(body);
    return true;
}

ssize_t secrets_answer_ready(const struct secrets *s, uint32_t which, struct secrets_answer *a,
                             bool end)
{
    if (!buf_ok(&a->raw) || !buf_ok(&a->marks))
        return -1;
    if (a->raw.n == 0)
        return 0;
    secrets_hide(s, which, a->raw.s, a->raw.n); /* header fields, also those at the end */
    size_t open, n = a->raw.n;
    if (!hide_body(s, which, a, &open))
        return -1;
    if (end)
        return (ssize_t)n;
    while (open)
        open -= a->marks.s[--n] ? 1 : 0;
    size_t others = a->raw.n - count_open(s, which, a->raw.s, a->raw.n);
    return (ssize_t)(n < others ? n : others);
}

void secrets_answer_sent(struct secrets_answer *a, size_t n)
{
    memmove(a->raw.s, a->raw.s + n, a->raw.n - n);
    memmove(a->marks.s, a->marks.s + n, a->marks.n - n);
    a->raw.n -= n;
    a->marks.n -= n;
}

void secrets_answer_free(struct secrets_answer *a)
{
    buf_free(&a->raw);
    buf_free(&a->marks);
}

bool secrets_answer_is_encoded(const char *head, size_t n)
{
    static const char name[] = "content-encoding:";
    for (const char *end; n && (end = memchr(head, '\n', n));) {
        size_t size = (size_t)(end - head) + 1;
        if (begins(head, size, name)) {
            const char *at = head + sizeof(name) - 1;
            at += strspn(at, " \t");
            if (!begins(at, (size_t)(end - at), "identity"))
                return true;
        }
        head += size;
        n -= size;
    }
    return false;
}
