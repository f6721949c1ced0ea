/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_INSERT_H
#define BK_NET_INSERT_H

#include "net/conn.h"

/* Secrets in the requests of a connection: headers, bodies, signatures. */

/* Whether the request has to wait for its body. Call it before the request is judged. */
bool insert_waits(struct conn *c, const struct http_head *h);
/* Writes the header that goes out instead of the client's; nothing if the server gets no secrets.
 * Returns NULL, or the reason why the request is refused. */
const char *insert_head(struct conn *c, const struct http_head *h, struct buf *out);
/* Sends what is there of a request's body. Returns its length, or -1 if it is malformed. */
ssize_t insert_body(struct conn *c, const char *data, size_t n);

#endif
