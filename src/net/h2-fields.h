/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_H2_FIELDS_H
#define BK_NET_H2_FIELDS_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "net/handling.h"
#include "net/http.h"

/* The decoded header fields of one request, in a buf: two lengths and both texts of each. */

/* What a request has at most, with what was added to it. */
enum { H2_FIELDS_SENT = 512 };

void h2_fields_add(struct buf *fields, const void *name, size_t n, const void *value, size_t m);
/* Lists at most cap of them, pointing into the buf. */
size_t h2_fields_list(const struct buf *fields, nghttp2_nv *list, size_t cap);
/* Those that are no pseudo-header fields, as of an HTTP/1 header. Returns false if there are too
 * many. */
bool h2_fields_head(const struct buf *fields, struct http_head *out);
/* Makes the changes. Names in e->add are in lower case. */
void h2_fields_edit(struct buf *fields, const struct head_edit *e);

#endif
