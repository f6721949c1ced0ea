/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TERMINATE_H
#define BK_NET_TERMINATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "graph/graph.h"
#include "net/tls-hello.h"
#include "net/tls-end.h"

struct conn;
struct side;

/* The gate becomes the end of TLS for a client whose hello is in c->in, and a client of the server.
 * Returns whether the connection can go on. */
bool terminate_begin(struct conn *c, const struct hello *hello);
/* Whether the client's TLS would end here, and no more may (handling.h). */
bool terminate_is_full(const struct conn *c);
/* Continues the handshakes; returns false if more bytes are needed. */
bool terminate_step(struct conn *c);
/* Ends a connection whose handshakes took too long, and reports it. */
void terminate_expired(struct conn *c);
/* The client has ended, and said nothing since the handshake. */
void terminate_left(struct conn *c);
/* Encrypted bytes have arrived. */
void terminate_receive(struct side *from, const char *data, size_t n);
void terminate_send(struct side *s, const void *data, size_t n);
/* Announces the end of a direction. Returns whether everything is sent. */
bool terminate_end(struct side *s);

struct handling;
/* Whether TLS may end here under this policy. */
bool terminate_may(const struct graph *g, const struct handling *with);
/* The hosts whose requests the policy distinguishes, or all that it allows if all TLS ends here, as
 * an authority's names (net/tls-end.h); nothing if it has to be valid for all. Returns false
 * without memory. */
bool terminate_names(const struct graph *g, const struct handling *with, struct buf *names);

#endif
