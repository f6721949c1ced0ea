/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Texts in the payload become others of the same shape, so that the token stays as long as it is.
 * Names, numbers and the header stay: programs look at the time when a token ends. The signature
 * is random: a real one would let the command guess what is hidden.
 */

#include "run/jwt-fake.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "net/secrets.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- base64url, without padding ---- */

static long decode(const char *s, size_t n, char *out)
{
    unsigned bits = 0, have = 0;
    long used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *at = s[i] ? strchr(letters, s[i]) : NULL;
        if (!at)
            return -1;
        bits = bits << 6 | (unsigned)(at - letters);
        if ((have += 6) >= 8)
            out[used++] = (char)(bits >> (have -= 8));
    }
    return n % 4 == 1 ? -1 : used;
}

static void encode(const char *s, size_t n, char *out)
{
    unsigned bits = 0, have = 0;
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | (uint8_t)s[i];
        for (have += 8; have >= 6;)
            *out++ = letters[bits >> (have -= 6) & 63];
    }
    if (have)
        *out = letters[bits << (6 - have) & 63];
}

/* ---- segments ---- */

static bool split(const char *s, size_t n, size_t dots[2])
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.' && found < 2)
            dots[found] = i;
        found += s[i] == '.';
    }
    return found == 2 && n <= JWT_MAX && dots[1] + 1 < n;
}

static json_t *parse(const char *s, size_t n)
{
    char text[JWT_MAX];
    long size = n <= JWT_MAX ? decode(s, n, text) : -1;
    return size > 0 ? json_loadb(text, (size_t)size, JSON_DECODE_ANY, NULL) : NULL;
}

bool jwt_is(const char *s, size_t n)
{
    size_t dots[2];
    if (!split(s, n, dots))
        return false;
    json_t *header = parse(s, dots[0]), *payload = parse(s + dots[0] + 1, dots[1] - dots[0] - 1);
    bool is = json_is_object(header) && json_object_get(header, "alg") && payload;
    json_decref(header);
    json_decref(payload);
    return is;
}

/* ---- texts ---- */

struct walk {
    char *text;
    size_t n;
    const struct words *claims;
    struct jwt_fake *out;
    int depth;
    bool hit; /* the value that follows is one of the claims */
};

static size_t end_of_text(const struct walk *w, size_t at)
{
    for (at++; at < w->n && w->text[at] != '"'; at++)
        if (w->text[at] == '\\')
            at++;
    return at < w->n ? at : w->n;
}

static bool is_name(const struct walk *w, size_t end)
{
    size_t at = end + 1;
    while (at < w->n && strchr(" \t\r\n", w->text[at]))
        at++;
    return at < w->n && w->text[at] == ':';
}

static bool is_claim(const struct walk *w, size_t from, size_t n)
{
    for (size_t i = 0; i < w->claims->n; i++)
        if (strlen(w->claims->at[i]) == n && memcmp(w->claims->at[i], w->text + from, n) == 0)
            return true;
    return false;
}

/* Text with escapes stays as long as another only if they stay. */
static void replace(struct walk *w, size_t from, size_t n)
{
    char fake[JWT_MAX];
    if (memchr(w->text + from, '\\', n) || !secret_fake(w->text + from, n, fake)) {
        /* too short to be found again: hidden, and only the token as a whole is known */
        for (size_t i = from; i < from + n; i++)
            if (w->text[i] == '\\')
                i++;
            else if ((uint8_t)w->text[i] < 0x80)
                w->text[i] = 'x';
        return;
    }
    struct jwt_fake *out = w->out;
    if (w->claims->n && out->nclaims < JWT_CLAIMS) {
        struct jwt_claim *c = &out->claims[out->nclaims++];
        memcpy(c->value, w->text + from, n);
        memcpy(c->fake, fake, n);
        c->n = n;
    }
    memcpy(w->text + from, fake, n);
}

/* Replaces texts of a payload that is JSON. */
static bool replace_texts(struct walk *w)
{
    bool any = false;
    for (size_t at = 0; at < w->n; at++) {
        char c = w->text[at];
        w->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c == ',' || c == '{' || c == '[')
            w->hit = false;
        if (c != '"')
            continue;
        size_t end = end_of_text(w, at), n = end - at - 1;
        if (is_name(w, end))
            w->hit = w->depth == 1 && is_claim(w, at + 1, n);
        else if (w->claims->n ? w->hit && w->depth == 1 : n > 0) {
            replace(w, at + 1, n);
            any = true;
        }
        at = end;
    }
    return any;
}

int jwt_fake(const char *s, size_t n, const struct words *claims, struct jwt_fake *out)
{
    size_t dots[2];
    char text[JWT_MAX];
    if (!split(s, n, dots))
        return -1;
    long size = decode(s + dots[0] + 1, dots[1] - dots[0] - 1, text);
    if (size < 0)
        return -1;
    struct walk w = {text, (size_t)size, claims, out, 0, false};
    out->nclaims = 0;
    bool any = replace_texts(&w);
    if (claims->n && !any)
        return 0;
    memcpy(out->token, s, n);
    out->token[n] = '\0';
    encode(text, (size_t)size, out->token + dots[0] + 1);
    return secret_fake(s + dots[1] + 1, n - dots[1] - 1, out->token + dots[1] + 1) ? 1 : -1;
}
