/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PARENT_PROXY_H
#define BK_NET_PARENT_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/proxy-url.h"

/*
 * The proxies that allowed connections leave through, and the hosts that are reached without one. A
 * flag or the settings name one proxy for everything. The caller's variables (http_proxy,
 * https_proxy, all_proxy, no_proxy, or in upper case) name one for each kind of connection, as they
 * do outside. The policy has decided before any of this counts.
 */

enum parent_kind {
    PARENT_HTTP,  /* http_proxy: port 80, and requests that a client sends to a proxy in full */
    PARENT_HTTPS, /* https_proxy: port 443, and CONNECT from a client */
    PARENT_OTHER, /* all_proxy: all others; and both above, without a proxy of their own */
    PARENT_KINDS,
};

enum { PARENT_EXCEPT = 4096 };

struct parent_proxies {
    struct upstream proxy[PARENT_KINDS];
    bool given[PARENT_KINDS];
    char except[PARENT_EXCEPT]; /* as in no_proxy; "" for none */
    bool required; /* nothing leaves without it, not even datagrams: a flag or the settings name it
                    */
    char unusable[32]; /* a variable whose value cannot be used; "" if there is none */
};

/* One proxy for everything. except may be NULL. Returns -1 if it is too long. */
int parent_proxies_set(struct parent_proxies *p, const struct upstream *all, const char *except);
/* Reads the variables into *p, which is zero. Returns whether any proxy is given. */
bool parent_proxies_read(struct parent_proxies *p, char *const *env);

/* The proxy for a connection to this host, or NULL if there is none for it. asked: the client asked
 * for a proxy itself: PARENT_HTTP or PARENT_HTTPS; PARENT_OTHER: it did not. */
const struct upstream *parent_proxy_for(const struct parent_proxies *p, const struct peer *host,
                                        uint16_t port, enum parent_kind asked);

#endif
