/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * no_proxy has no standard. Programs agree on this much, which is what is read here: names
 * separated by commas or spaces; a name means itself and everything below it, with or without a dot
 * or "*." in front; an address or a range; each with an optional port; "*" for every host.
 */

#include "net/parent-proxy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "graph/net.h"

/* ---- exceptions ---- */

/* Splits ":port" off a name. Returns false if it is for another port. */
static bool name_port_fits(const char *s, size_t *n, uint16_t port)
{
    const char *colon = bytes_find_last(s, ':', *n);
    uint16_t lo, hi;
    if (!colon)
        return true;
    size_t digits = *n - (size_t)(colon + 1 - s);
    if (net_ports_parse(colon + 1, digits, &lo, &hi, NULL) < 0)
        return false;
    *n = (size_t)(colon - s);
    return lo <= port && port <= hi;
}

static bool name_fits(const char *s, size_t n, const struct peer *host, uint16_t port)
{
    if (host->address || !name_port_fits(s, &n, port))
        return false;
    size_t skip = n > 2 && s[0] == '*' && s[1] == '.' ? 2 : n > 1 && s[0] == '.' ? 1 : 0;
    s += skip;
    n -= skip;
    if (n && s[n - 1] == '.')
        n--;
    if (n == 0 || n > host->len || strncasecmp(host->name + host->len - n, s, n) != 0)
        return false;
    return n == host->len || host->name[host->len - n - 1] == '.';
}

static bool address_fits(const struct net_endpoint *e, const struct peer *host, uint16_t port)
{
    struct net_endpoint here = {.proto = NET_TCP,
                                .host = NET_HOST_ADDRESS,
                                .prefix = 128,
                                .port_lo = port,
                                .port_hi = port};
    if (!host->address)
        return e->host == NET_HOST_LOCALHOST && peer_is_localhost(host);
    here.proto &= (uint16_t) ~(addr_is_v4(host->addr) ? NET_IP6 : NET_IP4);
    memcpy(here.addr, host->addr, 16);
    return net_endpoint_match(e, &here);
}

static bool entry_fits(const char *s, size_t n, const struct peer *host, uint16_t port)
{
    struct net_endpoint e = {0};
    if (n == 1 && s[0] == '*')
        return true;
    if (net_endpoint_parse(s, n, &e, NULL, NULL) < 0)
        return name_fits(s, n, host, port);
    e.proto = NET_IP;
    return address_fits(&e, host, port);
}

static bool is_excepted(const struct parent_proxies *p, const struct peer *host, uint16_t port)
{
    static const char between[] = ", \t\n;";
    for (const char *s = p->except; *s;) {
        size_t n = strcspn(s, between);
        if (n && entry_fits(s, n, host, port))
            return true;
        s += n;
        s += strspn(s, between);
    }
    return false;
}

/* ---- choosing ---- */

/* What a client means that did not ask for a proxy, by the port. */
static enum parent_kind kind_of(uint16_t port, enum parent_kind asked)
{
    enum { SSH = 22, HTTP = 80, HTTPS = 443, GIT = 9418 };
    if (port == SSH || port == GIT) /* these programs have no proxy outside either */
        return PARENT_OTHER;
    if (asked != PARENT_OTHER)
        return asked;
    return port == HTTP ? PARENT_HTTP : port == HTTPS ? PARENT_HTTPS : PARENT_OTHER;
}

const struct upstream *parent_proxy_for(const struct parent_proxies *p, const struct peer *host,
                                        uint16_t port, enum parent_kind asked)
{
    enum parent_kind kind = kind_of(port, asked);
    if (!p->given[kind])
        kind = PARENT_OTHER;
    return p->given[kind] && !is_excepted(p, host, port) ? &p->proxy[kind] : NULL;
}

/* ---- reading ---- */

int parent_proxies_set(struct parent_proxies *p, const struct upstream *all, const char *except)
{
    *p = (struct parent_proxies){.given = {[PARENT_OTHER] = true}, .required = true};
    p->proxy[PARENT_OTHER] = *all;
    int n = snprintf(p->except, sizeof(p->except), "%s", except ? except : "");
    return n < 0 || (size_t)n >= sizeof(p->except) ? -1 : 0;
}

/* The value of the last variable with this name, in lower case first: HTTP_PROXY may come from a
 * request's header where a web server sets variables. */
static const char *value_of(char *const *env, const char *name, bool any_case)
{
    size_t n = strlen(name);
    for (; *env; env++)
        if ((any_case ? strncasecmp : strncmp)(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static const char *find_value(char *const *env, const char *name)
{
    const char *lower = value_of(env, name, false);
    return lower ? lower : value_of(env, name, true);
}

static bool read_url(const char *text, struct upstream *out)
{
    char url[1024];
    struct bk_err err;
    const char *scheme = strstr(text, "://") ? "" : "http://"; /* "proxy:3128", as curl takes it */
    int n = snprintf(url, sizeof(url), "%s%s", scheme, text);
    return n > 0 && (size_t)n < sizeof(url) && upstream_parse(url, out, &err) == 0;
}

bool parent_proxies_read(struct parent_proxies *p, char *const *env)
{
    static const char *const names[PARENT_KINDS] = {"http_proxy", "https_proxy", "all_proxy"};
    bool any = false;
    p->unusable[0] = p->except[0] = '\0';
    p->required = false;
    for (size_t i = 0; i < PARENT_KINDS; i++) {
        const char *text = find_value(env, names[i]);
        p->given[i] = text && text[0] && read_url(text, &p->proxy[i]);
        if (text && text[0] && !p->given[i])
            snprintf(p->unusable, sizeof(p->unusable), "%s", names[i]);
        any = any || p->given[i];
    }
    const char *except = any ? find_value(env, "no_proxy") : NULL;
    /* a list that is cut would send hosts through the proxy that must not go there */
    if (except && strlen(except) >= sizeof(p->except))
        snprintf(p->unusable, sizeof(p->unusable), "no_proxy");
    else if (except)
        strcpy(p->except, except);
    return any;
}
