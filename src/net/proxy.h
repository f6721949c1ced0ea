/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PROXY_H
#define BK_NET_PROXY_H

#include "net/conn.h"

/* Each takes a complete message from c->in. They return false if more bytes are needed. */
bool proxy_first(struct conn *c);
bool proxy_login(struct conn *c);
bool proxy_request(struct conn *c);

/* The dial ended. */
void proxy_connected(struct conn *c);
void proxy_failed(struct conn *c, const struct dial_end *end);
/* v: NULL if no rule decided. */
void proxy_refuse(struct conn *c, const struct peer *host, uint16_t port,
                  const struct graph_verdict *v, const char *why);

/* Answers a request to c->host that is denied, and ends the connection. */
void proxy_refuse_request(struct conn *c, struct slice method, const struct graph_verdict *v,
                          const char *why);

/* Answers with this status, a mark for programs (X-Proxy-Error) and the reason, and ends the
 * connection. */
#define PROXY_BLOCKED "blocked-by-sandbox-runtime"
void proxy_refuse_with(struct conn *c, int status, const char *mark, const char *why);

#endif
