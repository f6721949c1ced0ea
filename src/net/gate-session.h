/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_SESSION_H
#define BK_NET_GATE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct gate;

/* Watches the link to the session, if there is one. Returns 0 or a negative errno. */
int gate_session_begin(struct gate *g);
/* Hands over a connection to a server of another command of the session. */
void gate_session_call(struct conn *c);
/* Tells the session that the command listens at a port, or no longer does. */
void gate_session_note(struct gate *g, uint16_t port, bool listens);

#endif
