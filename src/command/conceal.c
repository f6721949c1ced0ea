/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Commands without their secrets. A text is cut into words at spaces, quotes and what shells and
 * URLs use between words. A word is replaced if it follows a name for secrets, or begins as tokens
 * of known services do. This finds what people usually write; a secret that looks like any other
 * word stays.
 */

#include "command/conceal.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "command/environ.h"

enum { NAME_MOST = 64, TOKEN_LEAST = 16, ARGUMENT_MOST = 4000, COMMAND_MOST = 24000 };

static const char hidden[] = "***";

/* What ends a word. */
static bool separates(char c)
{
    return c == '\0' || strchr(" \t\r\n'\"`;|&()<>{}[],?", c) != NULL;
}

/* How tokens of known services begin. */
static bool is_token(const char *w, size_t n)
{
    static const char *const starts[] = {
        "ghp_",  "gho_",  "ghu_",  "ghs_",  "ghr_",  "github_pat_", "glpat-", "sk-",   "sk_live_",
        "rk_",   "xoxb-", "xoxp-", "xoxa-", "xoxs-", "AKIA",        "ASIA",   "AIza",  "npm_",
        "pypi-", "eyJ",   "hf_",   "SG.",   "dop_",  "shpat_",      "ya29.",  "glsa_", "whsec_",
    };
    for (size_t i = 0; n >= TOKEN_LEAST && i < sizeof(starts) / sizeof(starts[0]); i++)
        if (n > strlen(starts[i]) && strncmp(w, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Whether it names a secret, as a variable, an option or a header: API_KEY, --api-key, X-Api-Key */
static bool names_secret(const char *w, size_t n)
{
    static const char *const more[] = {"PASS",   "PW",     "PWD",           "AUTH", "BEARER",
                                       "COOKIE", "APIKEY", "AUTHORIZATION", "OTP",  "SECRET"};
    char name[NAME_MOST];
    while (n && *w == '-')
        w++, n--;
    if (n == 0 || n >= sizeof(name))
        return false;
    for (size_t i = 0; i < n; i++)
        name[i] = w[i] == '-' || w[i] == '.' || w[i] == ':' || w[i] == '/' ? '_' : w[i];
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        if (n == strlen(more[i]) && strncasecmp(name, more[i], n) == 0)
            return true;
    return environ_is_secret(name, n);
}

/* https://name:PASSWORD@host, https://TOKEN@host. Returns how much of the word was written. */
static size_t hide_login(const char *w, size_t n, struct buf *out)
{
    const char *scheme = memmem(w, n, "://", 3), *start = scheme ? scheme + 3 : w, *end = w + n;
    if (!scheme)
        return 0;
    const char *slash = memchr(start, '/', (size_t)(end - start));
    size_t span = (size_t)((slash ? slash : end) - start);
    const char *at = bytes_find_last(start, '@', span);
    const char *colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
    if (!at)
        return 0;
    buf_add(out, w, (size_t)((colon ? colon + 1 : start) - w));
    buf_str(out, hidden);
    return (size_t)(at - w);
}

/* What is expected of the words that follow. */
enum next { NEXT_ANY, NEXT_SECRET, NEXT_REST /* up to a quote */, NEXT_LOGIN /* name:password */ };

/* A secret can begin with one dash. */
static bool is_option(const char *w, size_t n)
{
    return n > 2 && w[0] == '-' && w[1] == '-';
}

/* NAME=value, --name=value, Header:value. Returns the length up to the value, or 0. */
static size_t name_before_value(const char *w, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (w[i] == '=' || (w[i] == ':' && (i + 1 == n || w[i + 1] != '/')))
            return names_secret(w, i) ? i + 1 : 0;
    return 0;
}

/* -u, and the options user and proxy-user, as curl has them */
static bool takes_login(const char *w, size_t n)
{
    static const char *const names[] = {"user", "proxy-user"};
    for (size_t i = 0; i < 2 && is_option(w, n); i++)
        if (strlen(names[i]) == n - 2 && memcmp(w + 2, names[i], n - 2) == 0)
            return true;
    return n == 2 && memcmp(w, "-u", 2) == 0;
}

static enum next add_word(const char *w, size_t n, enum next now, struct buf *out)
{
    const char *colon = memchr(w, ':', n);
    size_t name = name_before_value(w, n), login;
    if ((now == NEXT_SECRET || now == NEXT_REST) && n == 1 && (*w == ':' || *w == '=')) {
        buf_add(out, w, n);
        return now;
    }
    if (now == NEXT_REST || (now == NEXT_SECRET && !is_option(w, n)) || is_token(w, n)) {
        buf_str(out, hidden);
        return now == NEXT_REST ? now : NEXT_ANY;
    }
    if (now == NEXT_LOGIN && colon) {
        buf_add(out, w, (size_t)(colon + 1 - w));
        buf_str(out, hidden);
        return NEXT_ANY;
    }
    if (name) {
        bool header = w[name - 1] == ':';
        buf_add(out, w, name);
        buf_str(out, name < n ? hidden : "");
        return header ? NEXT_REST : name < n ? NEXT_ANY : NEXT_SECRET;
    }
    login = hide_login(w, n, out);
    buf_add(out, w + login, n - login);
    if (takes_login(w, n))
        return NEXT_LOGIN;
    return *w == '-' && n > 2 && names_secret(w, n) ? NEXT_SECRET : NEXT_ANY;
}

/* "password": "…" in JSON: the name is a word of its own. */
static bool is_member(const char *text, size_t n, size_t word, size_t end)
{
    return word > 0 && text[word - 1] == '"' && end + 1 < n && text[end] == '"' &&
           text[end + 1] == ':' && names_secret(text + word, end - word);
}

/* mysql -pPASSWORD, sshpass -pPASSWORD */
static bool joins_password(const char *w, size_t n)
{
    const char *slash = bytes_find_last(w, '/', n), *name = slash ? slash + 1 : w;
    size_t len = n - (size_t)(name - w);
    return (len >= 5 && memcmp(name, "mysql", 5) == 0) ||
           (len >= 7 && memcmp(name, "mariadb", 7) == 0) ||
           (len == 7 && memcmp(name, "sshpass", 7) == 0);
}

/* joined: a program was named whose passwords follow -p at once. */
static enum next conceal(const char *text, size_t n, enum next now, bool *joined, struct buf *out)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && !separates(text[end]))
            end++;
        if (end == at) {
            if (now == NEXT_REST && (text[at] == '"' || text[at] == '\'' || text[at] == '\n'))
                now = NEXT_ANY;
            buf_chr(out, text[at++]);
            continue;
        }
        if (*joined && end - at > 2 && text[at] == '-' && text[at + 1] == 'p') {
            buf_fmt(out, "-p%s", hidden);
            at = end;
            continue;
        }
        *joined |= joins_password(text + at, end - at);
        enum next then = add_word(text + at, end - at, now, out);
        now = is_member(text, n, at, end) ? NEXT_SECRET : then;
        at = end;
    }
    return now == NEXT_REST ? NEXT_ANY : now;
}

bool conceal_text(const char *text, size_t n, bool secret, struct buf *out)
{
    bool joined = false;
    return conceal(text, n, secret ? NEXT_SECRET : NEXT_ANY, &joined, out) == NEXT_SECRET;
}

void conceal_command(char *const *argv, struct buf *out)
{
    enum next now = NEXT_ANY;
    bool joined = false;
    size_t start = out->n;
    buf_chr(out, '[');
    for (size_t i = 0; argv && argv[i]; i++) {
        struct buf word = {0};
        size_t n = strlen(argv[i]), shown = n < ARGUMENT_MOST ? n : ARGUMENT_MOST;
        buf_str(out, i ? ", " : "");
        if (out->n - start > COMMAND_MOST) {
            buf_str(out, "\"…\"");
            break;
        }
        if (now == NEXT_SECRET && !is_option(argv[i], n)) /* all of it, spaces included */
            buf_str(&word, hidden), now = NEXT_ANY;
        else
            now = conceal(argv[i], shown, now, &joined, &word);
        buf_str(&word, shown < n ? "…" : "");
        buf_json(out, word.s ? word.s : "", word.n);
        out->failed |= !buf_ok(&word);
        buf_free(&word);
    }
    buf_chr(out, ']');
}
