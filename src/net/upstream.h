/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_UPSTREAM_H
#define BK_NET_UPSTREAM_H

#include <sys/types.h>

#include "graph/proxy-url.h"

/*
 * A parent proxy, through which connections leave: HTTP's CONNECT or SOCKS 5, the client's side of
 * them. It is asked for names, and looks them up itself.
 */

enum { UPSTREAM_SAYS = 1024, UPSTREAM_HEARS = 8192 };

/* A conversation about one connection, up to the point where it stands. */
struct upstream_talk {
    const struct upstream *to;
    const struct peer *host; /* where the connection is to lead */
    uint16_t port;
    uint8_t step;
    uint8_t says[UPSTREAM_SAYS]; /* what is to be sent next */
    size_t nsays;
    bool done;
};

/* Fills says. */
void upstream_begin(struct upstream_talk *t);
/* Hears an answer. How many of the n bytes it was, with says filled or done set; 0 when more of
 * them have to come; or a negated errno: EPROTO when they are malformed, or why there is no
 * connection. */
ssize_t upstream_hear(struct upstream_talk *t, const uint8_t *data, size_t n);

#endif
