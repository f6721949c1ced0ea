/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "graph/proxy-url.h"

#include <string.h>

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | ('A' <= c && c <= 'F' ? 0x20 : 0)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Undoes %XX. Control characters would end a line of the request. */
static bool copy(char to[UPSTREAM_LOGIN], const char *from, size_t n)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)from[i];
        if (c == '%') {
            int high = i + 2 < n ? digit(from[i + 1]) : -1,
                low = high < 0 ? -1 : digit(from[i + 2]);
            if (low < 0)
                return false;
            c = high << 4 | low;
            i += 2;
        } else if (c == ' ') {
            return false;
        }
        if (c < ' ' || c == 0x7f || len + 1 >= UPSTREAM_LOGIN)
            return false;
        to[len++] = (char)c;
    }
    to[len] = '\0';
    return true;
}

static bool read_login(const char *s, size_t n, struct upstream *out)
{
    const char *colon = memchr(s, ':', n);
    size_t user = colon ? (size_t)(colon - s) : n;
    out->login = true;
    return user && copy(out->user, s, user) &&
           copy(out->password, s + n - (colon ? n - user - 1 : 0), colon ? n - user - 1 : 0);
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
                      "put user:password@ before the host");
        return -1;
    }
    *out = u;
    return 0;
}
