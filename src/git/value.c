/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Checks values of settings the way their readers see them: git, and the programs that git passes
 * them to. A URL is checked as written and with its percent escapes decoded, because git decodes
 * them before it runs ssh.
 */

#include "git/value.h"

#include <string.h>
#include <strings.h>

#include "base/hex.h"

#define VALUE_MAX 4096
#define PROSE_MAX 65536

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

bool git_value_is_word(const char *value, const char *words)
{
    if (!value || !*value)
        return false;
    size_t len = strlen(value);
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, "|");
        if (n == len && !strncasecmp(at, value, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

bool git_value_is_int(const char *value)
{
    if (!value)
        return false;
    value += *value == '-' || *value == '+';
    size_t n = strspn(value, "0123456789");
    if (!n || n > 18)
        return false;
    value += n;
    return !*value || (strchr("kKmMgG", *value) && !value[1]);
}

bool git_value_is_bool(const char *value)
{
    return !value || !*value || git_value_is_word(value, "true|yes|on|false|no|off") ||
           git_value_is_int(value);
}

bool git_value_is_text(const char *value)
{
    if (!value || strnlen(value, VALUE_MAX) == VALUE_MAX)
        return false;
    while (*value && !is_control(*value))
        value++;
    return !*value;
}

bool git_value_is_prose(const char *value)
{
    if (!value || strnlen(value, PROSE_MAX) == PROSE_MAX)
        return false;
    while (*value && (!is_control(*value) || *value == '\n' || *value == '\t'))
        value++;
    return !*value;
}

bool git_value_is_plain(const char *value)
{
    if (!git_value_is_text(value))
        return false;
    while (*value && (is_alnum(*value) || strchr("#%+,-./:=_ ", *value)))
        value++;
    return !*value;
}

/* A component of a reference: neither hidden nor a lock. */
static bool is_component(const char *s, size_t n)
{
    return n && s[0] != '.' && s[n - 1] != '.' && !(n >= 5 && !memcmp(s + n - 5, ".lock", 5));
}

bool git_value_is_ref(const char *value, size_t len)
{
    if (!value || !len || len > 1024 || value[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = value[i], after = i + 1 < len ? value[i + 1] : '\0';
        if (is_control(c) || strchr(" ~^:?*[\\", c))
            return false;
        if ((c == '.' && after == '.') || (c == '@' && after == '{'))
            return false;
    }
    for (size_t at = 0; at <= len;) {
        const char *slash = memchr(value + at, '/', len - at);
        size_t n = slash ? (size_t)(slash - value) - at : len - at;
        if (!is_component(value + at, n))
            return false;
        at += n + 1;
    }
    return true;
}

/* One side of a refspec. A star replaces part of a name. */
static bool is_side(const char *s, size_t len)
{
    char name[1024];
    if (len >= sizeof(name))
        return false;
    memcpy(name, s, len);
    char *star = memchr(name, '*', len);
    if (star)
        *star = 'x';
    return !len || git_value_is_ref(name, len);
}

bool git_value_is_refspec(const char *value)
{
    if (!value || !*value)
        return false;
    value += *value == '+' || *value == '^';
    size_t n = strcspn(value, ":");
    if (!is_side(value, n))
        return false;
    return !value[n] || is_side(value + n + 1, strlen(value + n + 1));
}

bool git_value_is_below(const char *value, size_t len)
{
    if (!value || !len || len > VALUE_MAX || value[0] == '/' || value[0] == '-' || value[0] == '~')
        return false;
    for (size_t at = 0; at < len;) {
        const char *slash = memchr(value + at, '/', len - at);
        size_t n = slash ? (size_t)(slash - value) - at : len - at;
        if (n == 2 && value[at] == '.' && value[at + 1] == '.')
            return false;
        at += n + 1;
    }
    for (size_t i = 0; i < len; i++)
        if (is_control(value[i]) || value[i] == '\\')
            return false;
    return true;
}

/* A host with its surroundings: user@host:port, [::1]. Programs that ssh is configured to start get
 * these words through a shell, so no character may be special to one. */
static bool is_host(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '-' && (i == 0 || strchr("@[:", s[i - 1])))
            return false;
        if (!is_alnum(s[i]) && !strchr("@[]:._-+%=,", s[i]) && !((unsigned char)s[i] & 0x80))
            return false;
    }
    return true;
}

/* The same in a URL for curl, where a password may have any character. */
static bool is_authority(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((s[i] == '-' && (i == 0 || strchr("@[", s[i - 1]))) || s[i] == ' ' || s[i] == '\\')
            return false;
    return true;
}

static bool is_built_in(const char *s, size_t n)
{
    static const char *const built_in[] = {"https",   "http",    "ssh", "git", "file",
                                           "git+ssh", "ssh+git", "ftp", "ftps"};
    for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
        if (strlen(built_in[i]) == n && !memcmp(built_in[i], s, n))
            return true;
    return false;
}

static bool is_scheme_url(const char *s, size_t scheme)
{
    const char *host = s + scheme + 3;
    size_t n = strcspn(host, "/?#");
    bool curl = !strncmp(s, "http", 4) || !strncmp(s, "ftp", 3);
    return is_built_in(s, scheme) && (curl ? is_authority(host, n) : is_host(host, n)) &&
           strncmp(host + n, "/-", 2) != 0;
}

/* If a colon comes before any slash, it ends a host. */
static bool is_place(const char *s)
{
    size_t n = strcspn(s, ":/");
    if (!strncmp(s + n, "://", 3))
        return is_scheme_url(s, n);
    if (s[n] != ':' && s[0] != '[')
        return true; /* a path */
    const char *closed = strchr(s, ']');
    const char *colon = strchr(closed ? closed : s, ':');
    const char *slash = strchr(closed ? closed : s, '/');
    if (!colon || (slash && slash < colon))
        return s[n] != ':';
    return is_host(s, (size_t)(colon - s)) && colon[1] != '-';
}

static void decode_percent(const char *s, char *out)
{
    while (*s) {
        if (*s == '%' && hex_digit(s[1]) >= 0 && hex_digit(s[2]) >= 0) {
            *out++ = (char)(hex_digit(s[1]) * 16 + hex_digit(s[2]));
            s += 3;
        } else {
            *out++ = *s++;
        }
    }
    *out = '\0';
}

/* "helper::address". In an IPv6 address, the colons follow a bracket. */
static bool has_helper(const char *s)
{
    const char *colons = strstr(s, "::"), *bracket = strchr(s, '[');
    return colons && (!bracket || colons < bracket);
}

static bool is_one_place(const char *s)
{
    return s[0] && s[0] != '-' && !has_helper(s) && git_value_is_text(s) && is_place(s);
}

bool git_value_is_url(const char *value)
{
    char decoded[VALUE_MAX];
    if (!git_value_is_text(value) || strstr(value, "%00"))
        return false;
    decode_percent(value, decoded);
    return is_one_place(value) && is_one_place(decoded);
}
