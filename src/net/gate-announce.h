/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_ANNOUNCE_H
#define BK_NET_GATE_ANNOUNCE_H

struct conn;
struct gate;

int gate_announce_begin(struct gate *g); /* returns 0 or a negative errno */
/* Sets the destination of a new connection, now or when it is announced. */
void gate_announce_await(struct conn *c);

#endif
