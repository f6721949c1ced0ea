/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The values of the environment variables in proxy-vars.def.
 */

#include "net/proxy-vars.h"

#include <string.h>

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
} variables[NETENV_COUNT] = {
#define VARIABLE(name, value) {#name, VALUE_##value},
#include "net/proxy-vars.def"
#undef VARIABLE
};

const char *proxy_vars_name(size_t variable)
{
    return variables[variable].name;
}

bool proxy_vars_is_plain(const char *path)
{
    return path[0] == '/' &&
           !path[strspn(path, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789._+-")];
}

/* ssh has no proxy setting. macOS's nc supports SOCKS without a password. If there is a password,
 * our own program connects, provided its path needs no quoting in any of the shells involved. */
static void append_ssh(const struct proxy_vars *e, struct buf *out)
{
    if (e->token && e->connector && proxy_vars_is_plain(e->connector))
        buf_fmt(out, "ssh -o ProxyCommand='%s connect %%h %%p'", e->connector);
    else if (!e->token && e->socks)
        buf_fmt(out, "ssh -o ProxyCommand='nc -X 5 -x localhost:%u %%h %%p'", e->socks);
}

static void append_url(const struct proxy_vars *e, const char *scheme, uint16_t port,
                       struct buf *out)
{
    if (!port)
        return;
    buf_str(out, scheme);
    if (e->token)
        buf_fmt(out, "buckle:%s@", e->token);
    buf_fmt(out, "localhost:%u", port);
}

void proxy_vars_value(const struct proxy_vars *e, size_t variable, struct buf *out)
{
    enum value v = variables[variable].value;
    uint16_t port = v == VALUE_SOCKS_PORT ? e->socks : e->http;
    switch (v) {
    case VALUE_HTTP:
        append_url(e, "http://", e->http, out);
        break;
    case VALUE_SOCKS:
        append_url(e, "socks5h://", e->socks, out);
        break;
    case VALUE_RSYNC:
        append_url(e, "", e->http, out);
        break;
    case VALUE_HTTP_PORT:
    case VALUE_SOCKS_PORT:
        if (port)
            buf_fmt(out, "%u", port);
        break;
    case VALUE_SSH:
        append_ssh(e, out);
        break;
    case VALUE_HOST:
    case VALUE_PROXY_TYPE:
        buf_str(out, !e->http ? "" : v == VALUE_HOST ? "localhost" : "http");
        break;
    case VALUE_USER:
    case VALUE_TOKEN:
        buf_str(out, !e->token ? "" : v == VALUE_USER ? "buckle" : e->token);
        break;
    case VALUE_NO_PROXY:
        buf_str(out, "localhost,127.0.0.1,::1,*.local");
        break;
    }
}
