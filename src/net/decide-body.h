/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_DECIDE_BODY_H
#define BK_NET_DECIDE_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct conn;

/* The decider wants to see at most so many bytes of the body of the request at the front of c->in.
 * Returns NULL, or the reason why that is refused. */
const char *decide_body_begin(struct conn *c, size_t most);
/* More of it may be there. Shows it once it is complete, or as much as is wanted. */
void decide_body_more(struct conn *c);
bool decide_body_waits(const struct conn *c); /* it is not shown yet */
void decide_body_end(struct conn *c);

#endif
