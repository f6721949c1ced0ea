/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Words are quoted with single quotes, in which a shell leaves every byte as it is; a single quote
 * itself stands between two such strings.
 */

#include "seatbelt/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- words ---- */

void shell_word(struct buf *out, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t n = strlen(s);
    if (n > 0 && strspn(s, plain) == n) {
        buf_add(out, s, n);
        return;
    }
    buf_chr(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            buf_str(out, "'\\''");
        else
            buf_chr(out, s[i]);
    }
    buf_chr(out, '\'');
}

void wrap_line(const struct wrap *w, struct buf *out)
{
    if (!w->profile) {
        buf_str(out, w->command);
        return;
    }
    buf_str(out, "env ");
    for (const char *const *e = w->env; e && *e; e++) {
        shell_word(out, *e);
        buf_chr(out, ' ');
    }
    buf_str(out, "sandbox-exec -p ");
    shell_word(out, w->profile);
    buf_chr(out, ' ');
    shell_word(out, w->shell);
    buf_str(out, " -c ");
    shell_word(out, w->command);
}

/* ---- the shell ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static const char *look_in(struct arena *arena, const char *folder, size_t n, const char *name)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%.*s/%s", n ? (int)n : 1, n ? folder : ".", name);
    if (len < 0 || (size_t)len >= sizeof(path) || !is_program(path))
        return NULL;
    return arena_strndup(arena, path, (size_t)len);
}

const char *shell_find(struct arena *arena, const char *shell, const char *path, struct bk_err *err)
{
    const char *found = NULL;
    if (strchr(shell, '/'))
        found = is_program(shell) ? shell : NULL;
    for (const char *at = path; at && !found && !strchr(shell, '/');) {
        size_t n = strcspn(at, ":");
        if (n < 4096)
            found = look_in(arena, at, n, shell);
        at = at[n] ? at + n + 1 : NULL;
    }
    if (!found)
        err_set(err, BK_E_INPUT, "Shell '%.80s' not found in PATH", shell);
    return found;
}

/* ---- the environment ---- */

enum value {
    VALUE_HTTP,
    VALUE_SOCKS,
    VALUE_RSYNC,
    VALUE_HTTP_PORT,
    VALUE_SOCKS_PORT,
    VALUE_HOST,
    VALUE_USER,
    VALUE_TOKEN,
    VALUE_PROXY_TYPE,
    VALUE_NO_PROXY,
    VALUE_SSH,
};

static const struct variable {
    const char *name;
    enum value value;
} variables[] = {
#define VARIABLE(name, value) {#name, VALUE_##value},
#include "net/netenv.def"
#undef VARIABLE
};

/* ssh has no proxies of its own. macOS's nc speaks SOCKS, without a password; we speak for whoever
 * has one, if our own name is plain enough for all the shells on the way. */
static void say_ssh(const struct wrap_proxies *p, struct buf *out)
{
    const char *own = p->connector;
    bool plain = own && own[0] == '/' &&
                 !own[strspn(own, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._+-")];
    if (p->token && plain)
        buf_fmt(out, "ssh -o ProxyCommand='%s connect %%h %%p'", own);
    else if (!p->token && p->socks)
        buf_fmt(out, "ssh -o ProxyCommand='nc -X 5 -x localhost:%u %%h %%p'", p->socks);
}

static void say_url(const struct wrap_proxies *p, const char *scheme, uint16_t port,
                    struct buf *out)
{
    if (!port)
        return;
    buf_str(out, scheme);
    if (p->token)
        buf_fmt(out, "buckle:%s@", p->token);
    buf_fmt(out, "localhost:%u", port);
}

/* Nothing, when the variable has no meaning here. */
static void say_value(const struct wrap_proxies *p, enum value v, struct buf *out)
{
    uint16_t port = v == VALUE_SOCKS_PORT ? p->socks : p->http;
    switch (v) {
    case VALUE_HTTP:
        say_url(p, "http://", p->http, out);
        break;
    case VALUE_SOCKS:
        say_url(p, "socks5h://", p->socks, out);
        break;
    case VALUE_RSYNC:
        say_url(p, "", p->http, out);
        break;
    case VALUE_HTTP_PORT:
    case VALUE_SOCKS_PORT:
        if (port)
            buf_fmt(out, "%u", port);
        break;
    case VALUE_SSH:
        say_ssh(p, out);
        break;
    case VALUE_HOST:
    case VALUE_PROXY_TYPE:
        buf_str(out, !p->http ? "" : v == VALUE_HOST ? "localhost" : "http");
        break;
    case VALUE_USER:
    case VALUE_TOKEN:
        buf_str(out, !p->token ? "" : v == VALUE_USER ? "buckle" : p->token);
        break;
    case VALUE_NO_PROXY:
        buf_str(out, "localhost,127.0.0.1,::1,*.local");
        break;
    }
}

/* False without memory. */
static bool add(struct arena *arena, const char **list, size_t *n, const struct buf *entry)
{
    list[*n] = buf_ok(entry) ? arena_strndup(arena, entry->s, entry->n) : NULL;
    return list[(*n)++] != NULL;
}

const char **wrap_environ(struct arena *arena, const struct wrap_proxies *p, const char *tmpdir)
{
    enum { ALL = sizeof(variables) / sizeof(variables[0]), MORE = 3 };
    const char **list = arena_array(arena, ALL + MORE, sizeof(*list));
    size_t n = 0, named = 0;
    bool good = list != NULL;
    if (good)
        list[n++] = "SANDBOX_RUNTIME=1";
    for (size_t i = 0; good && i <= ALL; i++) {
        struct buf entry = {0};
        bool last = i == ALL;
        buf_fmt(&entry, "%s=", last ? "TMPDIR" : variables[i].name);
        named = entry.n;
        if (last)
            buf_str(&entry, tmpdir ? tmpdir : "");
        else if (p->http || p->socks)
            say_value(p, variables[i].value, &entry);
        if (entry.n > named)
            good = add(arena, list, &n, &entry);
        buf_free(&entry);
    }
    return good ? list : NULL;
}
