/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* One write for each line, so that lines of several processes don't mix. */

#include "cli/run/debug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/exit-status.h"
#include "graph/proxy-url.h"

static const char *prefix_of_lines;

void debug_start(const char *prefix)
{
    prefix_of_lines = prefix;
}

bool debug_on(void)
{
    return prefix_of_lines;
}

void debug_print(const char *fmt, ...)
{
    char text[1024];
    struct buf line = {0};
    va_list ap;
    if (!prefix_of_lines)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_fmt(&line, "%s ", prefix_of_lines);
    buf_safe(&line, text, strlen(text));
    buf_chr(&line, '\n');
    exit_write(STDERR_FILENO, &line);
}

static const char *reading(const struct access *p, char out[64])
{
    size_t only = p->allow_read.n + p->allow_write.n;
    if (p->reads_nothing)
        snprintf(out, 64, "only %zu path%s", only, plural(only));
    else if (p->deny_read.n || p->as_shipped)
        snprintf(out, 64, "all except %zu path%s%s", p->deny_read.n, plural(p->deny_read.n),
                 p->as_shipped ? " and secrets" : "");
    else
        return "not restricted";
    return out;
}

static const char *writing(const struct access *p, char out[96])
{
    if (p->writes_everything)
        return "not restricted";
    snprintf(out, 96, "%zu path%s%s, except %zu%s", p->allow_write.n, plural(p->allow_write.n),
             p->tmpdir ? " and TMPDIR" : "", p->deny_write.n,
             p->protects_names ? " and protected paths" : "");
    return out;
}

static const char *network(const struct access *p, char out[96])
{
    if (p->network_open)
        return "not restricted";
    snprintf(out, 96, "%zu host%s allowed, %zu denied", p->allowed_domains.n,
             plural(p->allowed_domains.n), p->denied_domains.n);
    return out;
}

void debug_line(void *arg, const char *line)
{
    (void)arg;
    debug_print("%s", line);
}

void debug_policy(const struct access *p)
{
    char r[64], w[96], n[96];
    debug_print("Applied restrictions - network: %s; read: %s; write: %s", network(p, n),
                reading(p, r), writing(p, w));
    if (p->all_unix_sockets || p->unix_sockets.n)
        debug_print("Unix sockets: %s", p->all_unix_sockets ? "all" : "only the listed ones");
    if (p->local_binding)
        debug_print("Local ports are reachable");
}

static void debug_ports(struct settings *s, const struct settings_result *r)
{
    const struct json *http = settings_value(s, SETTING_HTTP_PORT);
    const struct json *socks = settings_value(s, SETTING_SOCKS_PORT);
    struct upstream up;
    struct bk_err err;
    if (http)
        debug_print("Using external HTTP proxy on port %d", (int)http->number);
    if (socks)
        debug_print("Using external SOCKS proxy on port %d", (int)socks->number);
    if (r->upstream && upstream_parse(r->upstream, &up, &err) == 0)
        debug_print("Connections leave through a %s proxy, port %u%s", up.socks ? "SOCKS" : "HTTP",
                    up.port, up.login ? ", with a login" : "");
}

void debug_settings(struct settings *s, const struct settings_result *r)
{
    if (!prefix_of_lines)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].path)
            debug_print("Settings: %s (%s%s)", s->layers[i].path,
                        settings_layer_name(s->layers[i].id),
                        s->layers[i].trusted ? "" : ", not trusted: only its denials apply");
    debug_policy(&r->policy);
    debug_ports(s, r);
}
