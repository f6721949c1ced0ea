/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_PROXY_URL_H
#define BK_GRAPH_PROXY_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "graph/peer.h"

/* The URL of a parent proxy, as settings and flags write it. net/upstream.h talks to that proxy. */

enum { UPSTREAM_LOGIN = 128 };

struct upstream {
    bool socks;
    bool login;
    struct peer host;
    uint16_t port;
    char user[UPSTREAM_LOGIN], password[UPSTREAM_LOGIN];
};

/* "http://host:port", "socks5://user:password@host:port". On failure *out is untouched. */
int upstream_parse(const char *url, struct upstream *out, struct bk_err *err);

#endif
