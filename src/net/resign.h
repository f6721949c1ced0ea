/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_RESIGN_H
#define BK_NET_RESIGN_H

#include "net/secrets.h"
#include "net/sigv4.h"

/* Requests that the command has signed for AWS with placeholders are signed with the real keys. */

enum { RESIGN_BODY_MAX = 4 << 20 };

/* Finds the pair of keys that the request is signed with, among those of the secrets in which.
 * Returns NULL if there is none. */
const struct secrets_pair *resign_find(const struct secrets *s, uint32_t which,
                                       const struct http_head *h);
/* Whether the request's body must be there before it is signed. */
bool resign_needs_body(const struct secrets *s, uint32_t which, const struct http_head *h);

/*
 * out has the header with which real values go to the server. Writes the new signature into it.
 * body: of the request, if it is needed. room: for parsing that header. Returns NULL, or the reason
 * why the request is refused.
 */
const char *resign(const struct secrets *s, const struct secrets_pair *pair,
                   const struct http_head *h, struct slice body, struct buf *out,
                   struct http_head *room);

#endif
