/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DECIDE_REQUEST_H
#define BK_NET_DECIDE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "net/decider.h"
#include "net/handling.h"
#include "net/http.h"

struct conn;

/* Whether a request that the policy allows may be sent. If a program decides (decider.h), false
 * means: not yet, or the client has its answer. */
bool decide_request(struct conn *c, const struct http_head *h, struct slice target);
/* The answer to a request that may not be sent. */
struct decide_no {
    int status; /* 0: the connection was reset */
    const char *mark;
    bool wants_http1;
    char why[DECISION_REASON + 64];
};
/* The same without an answer to the client, or a report. */
enum may decide_judge(struct conn *c, const struct http_head *h, struct slice target,
                      struct decide_no *no);

/* The changes that were decided, for a request with this target. plain: where a new one is. */
enum { DECIDE_NAMES = 512 };
struct head_edit decide_edit(const struct conn *c, struct slice target,
                             const char *names[DECIDE_NAMES], struct buf *plain);
/* Sends a request's header to the server, with the changes that were decided. */
void decide_send_head(struct conn *c, const char *head, size_t n);
void decide_forget(struct conn *c); /* the decision about the last request */

#endif
