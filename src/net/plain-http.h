/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_PLAIN_HTTP_H
#define BK_NET_PLAIN_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/eval.h"
#include "graph/peer.h"
#include "net/http.h"

struct conn;

/* Pass on requests that name the destination. They return false if more bytes are needed. */
bool plain_http_requests(struct conn *c);
/* Ends a connection whose request's header took too long, and reports it. */
void plain_http_expired(struct conn *c);
bool plain_http_h2(struct conn *c);
/* The server has closed: sends what was held back. */
void plain_http_answer_ended(struct conn *c);
/* Whether the server's next bytes go to the client unchanged. */
bool plain_http_passes(const struct conn *c);
/* Handles the server's bytes during an exchange. */
void plain_http_answer(struct conn *c, const char *data, size_t n);
void plain_http_h2_answer(struct conn *c, const char *data, size_t n);

/* Whether a client may use this name with its destination. */
bool plain_http_agrees(const struct conn *c, const struct peer *named);
/* Whether the policy allows this request, on a connection whose requests it distinguishes. A denial
 * has been reported; *why is its reason, or NULL if that is the rule. */
bool plain_http_may(struct conn *c, struct slice method, struct slice target, bool overrides,
                    struct graph_verdict *v, const char **why);
/* Reports a denied request, without its query. */
void plain_http_report(struct conn *c, struct slice method, struct slice target,
                       const struct graph_verdict *v, const char *why);
/* Both report the refusal and reset the connection. */
void plain_http_refuse(struct conn *c, const char *why);
void plain_http_refuse_name(struct conn *c, const struct peer *named, const char *how);

#endif
