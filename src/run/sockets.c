/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Paths of well-known sockets on this machine, for this user. Only the user's own environment has
 * influence.
 */

#include "run/sockets.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

const struct known_socket known_sockets[] = {
#define SOCKET(name, paths, keeps, sets, words) {name, paths, keeps, sets, words},
#include "run/sockets.def"
};
const size_t known_socket_count = sizeof(known_sockets) / sizeof(known_sockets[0]);

const struct known_socket *known_socket_find(const char *name)
{
    for (size_t i = 0; i < known_socket_count; i++)
        if (strcmp(known_sockets[i].name, name) == 0)
            return &known_sockets[i];
    return NULL;
}

/* ---- addresses ---- */

static bool has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Turns an address of D-Bus, Docker or PulseAudio into a path or "@name". */
static void add_address(const char *value, struct buf *out)
{
    static const char *const prefixes[] = {"unix:path=", "unix:abstract=", "unix://", "unix:"};
    size_t i = 0;
    while (i < 4 && !has_prefix(value, prefixes[i]))
        i++;
    if (i == 4) {
        buf_str(out, value);
        return;
    }
    value += strlen(prefixes[i]);
    if (i == 1)
        buf_chr(out, '@');
    buf_add(out, value, i < 2 ? strcspn(value, ",;") : strlen(value));
}

/* ":1" and "unix:1.0" are display 1 of this machine; others are elsewhere. */
static bool add_display(const char *value, struct buf *out)
{
    const char *number = has_prefix(value, "unix:") ? value + 5 : value[0] == ':' ? value + 1 : "";
    size_t n = strspn(number, "0123456789");
    buf_add(out, number, n);
    return n > 0;
}

/* ---- paths ---- */

static bool add_variable(const char *name, size_t n, struct buf *out)
{
    char key[64];
    if (n == 3 && memcmp(name, "UID", 3) == 0) {
        buf_fmt(out, "%u", (unsigned)geteuid());
        return true;
    }
    if (n >= sizeof(key))
        return false;
    memcpy(key, name, n);
    key[n] = '\0';
    const char *value = getenv(key);
    if (!value || !*value)
        return false;
    if (strcmp(key, "DISPLAY") == 0)
        return add_display(value, out);
    add_address(value, out);
    return true;
}

/* One alternative; false if a variable is missing or the result names no socket. */
static bool expand(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t word = 0;
        while (s[i] == '$' && i + 1 + word < n &&
               (s[i + 1 + word] == '_' || (s[i + 1 + word] >= 'A' && s[i + 1 + word] <= 'Z')))
            word++;
        if (word && !add_variable(s + i + 1, word, out))
            return false;
        if (!word)
            buf_chr(out, s[i]);
        i += 1 + word;
    }
    return buf_ok(out) && out->n && (out->s[0] == '/' || out->s[0] == '@');
}

int known_socket_next(const struct known_socket *s, const char **at, struct buf *path,
                      struct bk_err *err)
{
    const char *all = *at;
    size_t n = strcspn(all, " ");
    if (n == 0)
        return 0;
    *at = all + n + (all[n] == ' ');
    for (size_t i = 0; i <= n;) {
        size_t one = strcspn(all + i, "| ");
        path->n = 0;
        if (expand(all + i, one, path))
            return 1;
        i += one + 1;
    }
    if (all != s->paths)
        return known_socket_next(s, at, path, err);
    err_set(err, BK_E_INPUT, "cannot find the socket %s: %.*s", s->name, (int)n, all);
    err_hint(err, "set the variable, or give the socket's path instead of its name");
    return -1;
}

void known_socket_setting(const struct known_socket *s, const char *path, struct buf *out)
{
    const char *where = strstr(s->sets, "%s");
    const char *abstract = strstr(s->sets, "unix:path=");
    if (!where)
        return;
    if (path[0] == '@' && abstract) {
        buf_fmt(out, "%.*sunix:abstract=%s", (int)(abstract - s->sets), s->sets, path + 1);
        return;
    }
    buf_fmt(out, "%.*s%s", (int)(where - s->sets), s->sets, path);
}
