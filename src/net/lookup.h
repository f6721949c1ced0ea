/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_LOOKUP_H
#define BK_NET_LOOKUP_H

#include "net/dns-stub.h"
#include "net/dns.h"
#include "graph/peer.h"

/* Whether this record type is looked up. */
bool lookup_knows(uint16_t type);
/* Strips well-known service labels from a name. Returns false if there are none. */
bool lookup_owner(const struct peer *asked, struct peer *out);
/* Asks a name server and sends the reply to the client. Returns false if too many are pending. */
bool lookup_start(struct gate *g, const struct dns_query *q, const struct dns_client *who);
void lookup_forget(struct conn *c); /* the client has gone */

#endif
