/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_INSPECT_H
#define BK_NET_INSPECT_H

#include <stdbool.h>
#include <stddef.h>

struct conn;

/* Identifies the client's protocol; false if more bytes are needed. */
bool inspect_client(struct conn *c);
/* Check bytes of the server, or of the client, while the client's bytes pass unread. They return
 * false if that closed the connection. */
bool inspect_server(struct conn *c, const char *data, size_t n);
bool inspect_more(struct conn *c, const char *data, size_t n);

#endif
