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
struct gate;
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
/* Handles what a side has said that was not handled yet. */
void terminate_read(struct side *from);
/* An answer goes to the client as it is, once it was read. So it is encrypted for the client in the
 * call that decrypts it, and waits there. */
bool terminate_passes(const struct conn *c);
/* Sends what is encrypted. */
void terminate_flush(struct side *s);
/* Announces the end of a direction. Returns whether everything is sent. */
bool terminate_end(struct side *s);

/* ---- turns (terminate-turn.c) ---- */

/* Whether both ends have finished their handshakes, so that it is read by terminate_gather(). */
bool terminate_takes_turns(const struct conn *c);
/* Receives what there is of such a connection; false for others. It is handled with what the turn
 * finds for other connections, by terminate_turn(). */
bool terminate_gather(struct conn *c);
void terminate_turn(struct gate *g);
/* What it has to send in this turn is encrypted and sent now. */
void terminate_settle(struct conn *c);

/* ---- names ---- */

struct handling;
/* Whether TLS may end here under this policy. */
bool terminate_may(const struct graph *g, const struct handling *with);
/* The hosts whose requests the policy distinguishes, or all that it allows if all TLS ends here, as
 * an authority's names (net/tls-end.h); nothing if it has to be valid for all. Returns false
 * without memory. */
bool terminate_names(const struct graph *g, const struct handling *with, struct buf *names);

#endif
