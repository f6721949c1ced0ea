/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_ORIG_DST_H
#define BK_NET_ORIG_DST_H

#include <stdbool.h>

struct conn;

/* Both set a new connection's host and port. They return false if it leads nowhere. */
bool orig_dst_redirected(struct conn *c, bool v6);
bool orig_dst_as_sent(struct conn *c); /* the socket's local address is the destination */

#endif
