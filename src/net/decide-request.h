/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DECIDE_REQUEST_H
#define BK_NET_DECIDE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "net/http.h"

struct conn;

/* Whether a request that the policy allows may be sent. If a program decides (decider.h), false
 * means: not yet, or the client has its answer. */
bool decide_request(struct conn *c, const struct http_head *h, struct slice target);
/* Sends a request's header to the server, with the changes that were decided. */
void decide_send_head(struct conn *c, const char *head, size_t n);
void decide_forget(struct conn *c); /* the decision about the last request */

#endif
