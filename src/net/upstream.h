/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_UPSTREAM_H
#define BK_NET_UPSTREAM_H

#include <sys/types.h>

#include "graph/proxy-url.h"

/*
 * A parent proxy for all outbound connections: HTTP CONNECT or SOCKS 5. It gets host names and
 * looks them up itself.
 */

enum { UPSTREAM_OUT_MAX = 1024, UPSTREAM_IN_MAX = 8192 };

/* The exchange for one connection, until it is established. */
struct upstream_exchange {
    const struct upstream *to;
    const struct peer *host; /* the destination */
    uint16_t port;
    uint8_t step;
    uint8_t out[UPSTREAM_OUT_MAX]; /* bytes to send next */
    size_t nout;
    bool done;
    int status; /* of the proxy's last HTTP answer; 0: none */
};

/* Starts the exchange and fills out. */
void upstream_begin(struct upstream_exchange *t);
/* Reads an answer. Returns how many of the n bytes it used, with out filled or done set; 0 if it
 * is incomplete; or a negative errno: EPROTO if it is malformed, otherwise the reason why there is
 * no connection. */
ssize_t upstream_read(struct upstream_exchange *t, const uint8_t *data, size_t n);

#endif
