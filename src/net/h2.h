/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_H2_H
#define BK_NET_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "graph/peer.h"

/*
 * What a client says over HTTP/2 without TLS (RFC 9113): every request of every stream names its
 * host, and each name is put to the caller before the server hears of it. Frames are looked at and
 * passed on as they came; only those that carry fields are taken apart, since their compression
 * (HPACK) has a state that both ends share. Whatever a lenient server might read differently is
 * refused. The server's half is not read: nothing in it changes what the client's means. (Were the
 * server to allow a larger table for HPACK than the usual one, a client that uses it is refused.)
 */

/* Whether a request may name this host. */
typedef bool h2_named(void *arg, const struct peer *host);

struct h2;

/* The first bytes of every client. */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
enum {
    H2_PREFACE_SIZE = sizeof(H2_PREFACE) - 1,
    H2_FRAME_MAX = 32 << 10, /* of those with fields, */
    H2_BLOCK_MAX = 64 << 10, /* together, for one request, */
    H2_FIELDS_MAX = 256,
    H2_DECODED_MAX = 256 << 10, /* and unpacked */
};

/* upgraded: the first stream's request was read as HTTP/1. NULL without memory. */
struct h2 *h2_new(bool upgraded, h2_named *named, void *arg);
void h2_free(struct h2 *h); /* NULL is fine */

/* How many of the n bytes that come next may be passed on; what is left is to be given again, with
 * more behind it. -1: they are not to be, and h2_wrong() says why. */
ssize_t h2_read(struct h2 *h, const uint8_t *data, size_t n);
/* NULL: the caller did not agree to a name. */
const char *h2_wrong(const struct h2 *h);

#endif
