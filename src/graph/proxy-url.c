/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "graph/proxy-url.h"

#include <string.h>

static bool copy(char to[UPSTREAM_LOGIN], const char *from, size_t n)
{
    /* escapes would have to be undone, and control characters end lines */
    for (size_t i = 0; i < n; i++)
        if (from[i] == '%' || (unsigned char)from[i] <= ' ' || from[i] == 0x7f)
            return false;
    if (n == 0 || n >= UPSTREAM_LOGIN)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

static bool read_login(const char *s, size_t n, struct upstream *out)
{
    const char *colon = memchr(s, ':', n);
    out->login = true;
    return colon && copy(out->user, s, (size_t)(colon - s)) &&
           copy(out->password, colon + 1, n - (size_t)(colon + 1 - s));
}

int upstream_parse(const char *url, struct upstream *out, struct bk_err *err)
{
    static const struct {
        const char *scheme;
        bool socks;
        uint16_t port;
    } kinds[] = {{"http://", false, 80}, {"socks5://", true, 1080}, {"socks5h://", true, 1080}};
    struct upstream u = {0};
    const char *at = NULL;
    uint16_t port = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !at; i++)
        if (strncmp(url, kinds[i].scheme, strlen(kinds[i].scheme)) == 0) {
            at = url + strlen(kinds[i].scheme);
            u.socks = kinds[i].socks;
            port = kinds[i].port;
        }
    const char *login_end = at ? strrchr(at, '@') : NULL;
    bool good = at && (!login_end || read_login(at, (size_t)(login_end - at), &u));
    if (login_end)
        at = login_end + 1;
    size_t n = good ? strlen(at) : 0;
    if (n && at[n - 1] == '/')
        n--;
    if (!good || !peer_parse_authority(at, n, port, &u.host, &u.port)) {
        err_set(err, BK_E_INPUT, "%.80s is not the URL of a proxy", url);
        err_hint(err, "write http://host:port or socks5://host:port; if the proxy needs a login, "
                      "put user:password@ before the host (without percent signs)");
        return -1;
    }
    *out = u;
    return 0;
}
