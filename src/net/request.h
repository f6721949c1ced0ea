/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_REQUEST_H
#define BK_NET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "net/http.h"

/*
 * A request's method, path and query, as rules test them. Rules that look at requests are only
 * worth something if the server reads the request in the same way. So a target that servers read
 * differently is refused, or has to be allowed in each of the readings.
 */

/* Readings of one target. An escaped slash may separate folders or not, and a server may ignore
 * what follows a semicolon in a folder's name. */
enum { REQUEST_READINGS = 3, REQUEST_ROOM = REQUEST_READINGS * HTTP_HEAD_MAX };

struct request {
    struct slice method;
    struct slice paths[REQUEST_READINGS]; /* decoded */
    size_t npaths;
    struct slice query; /* without the question mark; escapes of plain characters are decoded */
};

/* target is in origin form or "*". The slices point into room, which has REQUEST_ROOM bytes, and
 * into method. Returns NULL, or the reason why the request is refused. */
const char *request_read(struct slice method, struct slice target, char *room, struct request *out);

/* Whether a server may take this field for another method or path than the request has. */
bool request_is_override(struct slice name);

#endif
