/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Words are quoted with single quotes, in which a shell leaves every byte as it is; a single quote
 * itself stands between two such strings.
 */

#include "seatbelt/wrap.h"

#include <errno.h>
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

enum url { PLAIN, HTTP_URL, SOCKS_URL };

static const struct variable {
    const char *name, *value; /* with a URL: what comes before it */
    enum url url;
} variables[] = {
    {"NO_PROXY", "localhost,127.0.0.1,::1,*.local", PLAIN},
    {"no_proxy", "localhost,127.0.0.1,::1,*.local", PLAIN},
    {"HTTP_PROXY", "http", HTTP_URL},
    {"HTTPS_PROXY", "http", HTTP_URL},
    {"http_proxy", "http", HTTP_URL},
    {"https_proxy", "http", HTTP_URL},
    {"DOCKER_HTTP_PROXY", "http", HTTP_URL},
    {"DOCKER_HTTPS_PROXY", "http", HTTP_URL},
    {"ALL_PROXY", "socks5h", SOCKS_URL},
    {"all_proxy", "socks5h", SOCKS_URL},
    {"FTP_PROXY", "socks5h", SOCKS_URL},
    {"ftp_proxy", "socks5h", SOCKS_URL},
    {"GRPC_PROXY", "socks5h", SOCKS_URL},
    {"grpc_proxy", "socks5h", SOCKS_URL},
};

enum { MORE = 10 };

struct list {
    struct arena *arena;
    const char **at;
    size_t n;
    bool failed;
};

static void add(struct list *l, const char *name, const char *value)
{
    size_t n = strlen(name) + 1 + strlen(value);
    char *text = arena_alloc(l->arena, n + 1);
    if (!text) {
        l->failed = true;
        return;
    }
    snprintf(text, n + 1, "%s=%s", name, value);
    l->at[l->n++] = text;
}

static void add_number(struct list *l, const char *name, const char *format, unsigned number)
{
    char value[160];
    snprintf(value, sizeof(value), format, number);
    add(l, name, value);
}

static void add_url(struct list *l, const struct variable *v, uint16_t port, const char *token)
{
    char value[160];
    snprintf(value, sizeof(value), "%s://%s%.64s%slocalhost:%u", v->value, token ? "buckle:" : "",
             token ? token : "", token ? "@" : "", port);
    add(l, v->name, value);
}

/* What a single program wants. ssh has no proxies of its own; macOS's nc speaks SOCKS, without a
 * password. rsync takes host:port. */
static void add_peculiar(struct list *l, uint16_t http, uint16_t socks, const char *token)
{
    if (socks && !token)
        add_number(l, "GIT_SSH_COMMAND", "ssh -o ProxyCommand='nc -X 5 -x localhost:%u %%h %%p'",
                   socks);
    if (socks && !token)
        add_number(l, "RSYNC_PROXY", "localhost:%u", socks);
    if (!http)
        return;
    add(l, "CLOUDSDK_PROXY_TYPE", "https");
    add(l, "CLOUDSDK_PROXY_ADDRESS", "localhost");
    add_number(l, "CLOUDSDK_PROXY_PORT", "%u", http);
    if (token) {
        add(l, "CLOUDSDK_PROXY_USERNAME", "buckle");
        add(l, "CLOUDSDK_PROXY_PASSWORD", token);
    }
}

const char **wrap_environ(struct arena *arena, uint16_t http_port, uint16_t socks_port,
                          const char *token, const char *tmpdir)
{
    enum { ALL = sizeof(variables) / sizeof(variables[0]) };
    struct list l = {.arena = arena, .at = arena_array(arena, ALL + MORE, sizeof(*l.at))};
    if (!l.at)
        return NULL;
    add(&l, "SANDBOX_RUNTIME", "1");
    if (tmpdir)
        add(&l, "TMPDIR", tmpdir);
    for (size_t i = 0; i < ALL && (http_port || socks_port); i++) {
        const struct variable *v = &variables[i];
        uint16_t port = v->url == HTTP_URL ? http_port : socks_port;
        if (v->url == PLAIN)
            add(&l, v->name, v->value);
        else if (port)
            add_url(&l, v, port, token);
    }
    add_peculiar(&l, http_port, socks_port, token);
    return l.failed ? NULL : l.at;
}
