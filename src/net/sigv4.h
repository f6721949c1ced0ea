/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_SIGV4_H
#define BK_NET_SIGV4_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "net/http.h"

/*
 * AWS Signature Version 4, in the Authorization field or in the query ("presigned"). The gate only
 * ever signs what it has understood: it first computes the signature that the client must have
 * made with its own keys, and goes on if that is the one in the request.
 */

/* How a path is written in the text that is signed: S3 takes it as it was sent, other services
 * escape it once more. */
enum sigv4_path { SIGV4_AS_SENT, SIGV4_ESCAPED_AGAIN, SIGV4_PATHS };

enum { SIGV4_TEXT = 4096 };

struct sigv4 {
    bool query;                    /* presigned */
    struct slice id, scope, names; /* key's id; date/region/service/aws4_request; header fields */
    struct slice time;             /* 20150830T123600Z */
    struct slice signature;        /* 64 digits, in the header that was read */
    struct slice payload;          /* x-amz-content-sha256, or empty */
    char text[SIGV4_TEXT];         /* what the slices of a query point into */
    size_t ntext;
};

/* Reads the signature of a request. Returns NULL, or the reason why it is not understood. The
 * slices point into h's data and into out. */
const char *sigv4_read(const struct http_head *h, bool query, struct sigv4 *out);

/* Appends the canonical request. payload: the last line of it. Returns NULL, or a reason. */
const char *sigv4_canonical(const struct http_head *h, const struct sigv4 *s, enum sigv4_path how,
                            struct slice payload, struct buf *out);

/* Computes a signature. Returns NULL, or a reason. */
const char *sigv4_sign(const struct http_head *h, const struct sigv4 *s, enum sigv4_path how,
                       struct slice payload, const char *key, size_t nkey,
                       char out[SHA256_HEX + 1]);

#endif
