/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_INBOUND_H
#define BK_NET_INBOUND_H

#include <stdint.h>

struct conn;
struct gate;
struct listener;

void inbound_accept(struct listener *l);
void inbound_return(struct conn *c); /* returns the server's socket of a closed connection */

/* A connection from another command of the session. Takes fd over. */
void inbound_take(struct gate *g, uint16_t port, int fd);

/* A server of the command has started to listen at this port. The session learns of it, and the
 * host's port leads there, if the policy lets the host call all servers. */
void inbound_note(struct gate *g, uint16_t port);
/* Undoes that for servers that have ended. */
void inbound_sweep(struct gate *g);

#endif
