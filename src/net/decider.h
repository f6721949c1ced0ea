/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DECIDER_H
#define BK_NET_DECIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/gate-int.h"

/*
 * Another program that decides about requests which the policy allows. Each request is one JSON
 * object, each answer another:
 *
 *   {"t": "req", "id": 7, "method": "GET", "scheme": "https", "host": "a.b", "port": 443,
 *    "path": "/x", "query": "y=1", "headers": {"accept": ["*"]}}
 *   {"id": 7, "action": "allow", "setHeaders": {"x-a": ["1"]}, "removeHeaders": ["cookie"]}
 *   {"id": 7, "action": "deny", "status": 403, "reason": "not today"}
 *   {"id": 7, "action": "need_body", "max": 65536}
 *   {"t": "body", "id": 7, "data": "aGVsbG8=", "cut": true}
 *   {"id": 7, "action": "wait"}
 *
 * Over a Unix socket each is a line; over descriptors, a length of four bytes goes in front, both
 * sides say hello first, and nothing but what `srt proxy` documents is sent. A request is refused
 * unless a well-formed answer allows it in time.
 */

enum {
    DECIDER_MS = 5000,
    DECISION_REASON = 1024,
    DECIDER_FRAME = 1 << 20,
    DECIDER_BODY = 32 << 20, /* most that it may want of one request's body */
};

struct decision {
    bool allow;
    bool waits;       /* it needs more time */
    uint32_t wants;   /* so much of the body is to be shown first; 0: nothing */
    bool wants_http1; /* it wants to see a body, which HTTP/2 does not let wait */
    uint16_t status;
    char reason[DECISION_REASON + 1];
    struct buf add;     /* lines of a header */
    struct buf removed; /* names, each with its zero byte */
};
void decision_free(struct decision *d);
#define OWN_decision decision_free

/* Reads one answer. framed: with everything that `srt proxy` asks of it. On failure returns the
 * reason; *d has to be freed either way. */
const char *decision_read(const char *text, size_t n, bool framed, const struct peer *host,
                          uint64_t *id, struct decision *d);

int decider_begin(struct gate *g);
void decider_sweep(struct gate *g);
void decider_end(struct gate *g);

/* Asks about the request whose header is at the front of c->in, or returns the answer. MAY: it is
 * in c->decision. MAY_NOT: the client has its answer. */
enum may decider_ask(struct conn *c, const struct http_head *h, struct slice target);
/* Sends it the request's body; cut: there is more. Then it is asked again. */
void decider_show(struct conn *c, const struct buf *body, bool cut);
/* Room for the bodies that wait to be shown, of all connections. */
bool decider_hold(struct gate *g, size_t n);
void decider_let_go(struct gate *g, size_t n);
/* c waits no more. */
void decider_leave(struct conn *c);

#endif
