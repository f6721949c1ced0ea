/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Programs disagree about odd URLs: a backslash, two @, an address written as one number. The rule
 * that comes out has to be about the host that the tool connects to, so nothing odd is accepted.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "graph/net.h"
#include "policy/registries.h"

struct url {
    const char *scheme; /* "https" */
    char host[260];     /* with the brackets of IPv6 */
    unsigned port;
    bool port_given;
    const char *path; /* up to a query */
    size_t npath;
};

static bool is_plain_text(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] <= 0x20 || s[i] >= 0x7f || strchr("\\\"'<>^`{|}", s[i]))
            return false;
    return n > 0 && n < REGISTRY_URL - 64;
}

static size_t skip_prefix(const char *s, size_t n, const char *prefix)
{
    size_t len = strlen(prefix);
    return n > len && strncasecmp(s, prefix, len) == 0 ? len : 0;
}

/* "80" → 80; 0 if it is not a port. */
static unsigned parse_port(const char *s, size_t n)
{
    unsigned port = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || n > 5)
            return 0;
        port = port * 10 + (unsigned)(s[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

/* Splits "name:port" or "[::1]:port". */
static int parse_authority(const char *s, size_t n, struct url *out)
{
    size_t host;
    if (n > 0 && s[0] == '[') {
        const char *end = memchr(s, ']', n);
        if (!end)
            return -1;
        host = (size_t)(end - s) + 1;
    } else {
        const char *colon = memchr(s, ':', n);
        host = colon ? (size_t)(colon - s) : n;
    }
    if (host == 0 || host >= sizeof(out->host) || (host < n && s[host] != ':'))
        return -1;
    memcpy(out->host, s, host);
    out->host[host] = '\0';
    out->port_given = host < n;
    if (out->port_given)
        out->port = parse_port(s + host + 1, n - host - 1);
    return out->port ? 0 : -1;
}

/* ---- hosts ---- */

/* No registry is at an address that is not of one machine, or at a cloud's metadata service. */
static bool is_odd_address(const struct net_endpoint *e)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *a = e->addr;
    if (e->host == NET_HOST_LOCALHOST)
        return false;
    if (e->host != NET_HOST_ADDRESS || e->prefix != 128)
        return true;
    if (memcmp(a, mapped, 12) == 0)
        return a[12] == 0 || (a[12] == 169 && a[13] == 254) || a[12] >= 224;
    bool link_local = a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
    static const uint8_t none[16];
    return link_local || a[0] == 0xff || memcmp(a, none, 16) == 0;
}

/* 2130706433, 0x7f.1 and 127.1 are addresses to some programs. */
static bool is_number_like(const char *host)
{
    const char *last = strrchr(host, '.');
    last = last ? last + 1 : host;
    return isdigit((unsigned char)last[0]) != 0;
}

static bool is_name(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
            return false;
    return true;
}

static int check_host(const struct url *u)
{
    char whole[REGISTRY_HOST];
    struct net_endpoint e;
    int n = snprintf(whole, sizeof(whole), "%s:%u", u->host, u->port);
    if (net_endpoint_parse(whole, (size_t)n, &e, NULL, NULL) == 0)
        return is_odd_address(&e) || strpbrk(u->host, "*/") ? -1 : 0;
    if (!is_name(u->host) || is_number_like(u->host))
        return -1;
    return net_domain_check(whole, (size_t)n, NULL);
}

/* ---- the whole ---- */

static int parse(const char *s, size_t n, struct url *out)
{
    *out = (struct url){0};
    if (!is_plain_text(s, n))
        return -1;
    size_t skip = skip_prefix(s, n, "sparse+");
    s += skip;
    n -= skip;
    size_t https = skip_prefix(s, n, "https://"), http = skip_prefix(s, n, "http://");
    if (!https && !http)
        return -1;
    out->scheme = https ? "https" : "http";
    out->port = https ? 443 : 80;
    s += https + http;
    n -= https + http;
    size_t authority = 0;
    while (authority < n && !strchr("/?#", s[authority]))
        authority++;
    out->path = s + authority;
    while (authority + out->npath < n && !strchr("?#", out->path[out->npath]))
        out->npath++;
    const char *at = memchr(s, '@', authority);
    size_t user = at ? (size_t)(at - s) + 1 : 0;
    if (memchr(s + user, '@', authority - user) || memchr(s + user, '%', authority - user))
        return -1;
    return parse_authority(s + user, authority - user, out) < 0 ? -1 : check_host(out);
}

int registry_host(const char *url, size_t n, char out[REGISTRY_HOST])
{
    struct url u;
    if (parse(url, n, &u) < 0)
        return -1;
    snprintf(out, REGISTRY_HOST, "%s:%u", u.host, u.port);
    return 0;
}

int registry_plain(const char *url, size_t n, char out[REGISTRY_URL])
{
    struct url u;
    char port[8] = "";
    if (parse(url, n, &u) < 0)
        return -1;
    if (u.port_given)
        snprintf(port, sizeof(port), ":%u", u.port);
    snprintf(out, REGISTRY_URL, "%s://%s%s%.*s", u.scheme, u.host, port, (int)u.npath, u.path);
    return 0;
}
