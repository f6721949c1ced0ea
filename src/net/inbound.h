/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_INBOUND_H
#define BK_NET_INBOUND_H

struct conn;
struct listener;

void inbound_accept(struct listener *l);
void inbound_return(struct conn *c); /* returns the server's socket of a closed connection */

#endif
