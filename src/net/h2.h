/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_H2_H
#define BK_NET_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "graph/peer.h"
#include "net/http.h"

/*
 * HTTP/2 without TLS (RFC 9113), the client's direction. Each request on each stream names its
 * host, and the caller approves each name before the server sees it. Frames are checked and passed
 * on unchanged. Only header blocks are decoded, because HPACK keeps state that both ends share.
 * Anything that a lenient server might read differently is refused.
 *
 * The server's direction is not read: it doesn't change the meaning of the client's bytes. (If a
 * server allows a larger HPACK table than the default, a client that uses it is refused.)
 */

/* Whether a request may name this host. */
typedef bool h2_named(void *arg, const struct peer *host);

/* What becomes of a request. H2_WAIT: h2_read() stops behind it, and h2_resume() asks again.
 * H2_END: the connection has been closed. */
enum h2_verdict { H2_SEND, H2_DENY, H2_WAIT, H2_END };

struct h2_asked {
    struct slice method, target;
    bool overrides;     /* a field names another method or path */
    struct buf *fields; /* h2-fields.h; may be changed */
};

/* The answer to a denied request. */
struct h2_denial {
    uint16_t status;
    const char *mark; /* X-Proxy-Error, or NULL */
    char why[128];
    bool wants_http1; /* instead of an answer: the client may try again in HTTP/1.1 */
};

typedef enum h2_verdict h2_requested(void *arg, const struct h2_asked *q, struct h2_denial *no);

struct h2;
struct h2_answers;

/* Every client starts with these bytes. */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
enum {
    H2_PREFACE_SIZE = sizeof(H2_PREFACE) - 1,
    H2_FRAME_MAX = 32 << 10, /* of a frame with header fields */
    H2_BLOCK_MAX = 64 << 10, /* of one request's header block */
    H2_FIELDS_MAX = 256,
    H2_DECODED_MAX = 256 << 10, /* of its decoded fields */
};

/* upgraded: stream 1 was already read as an HTTP/1 request. Returns NULL without memory. */
struct h2 *h2_new(bool upgraded, h2_named *named, void *arg);
/* Asks about each request as well. Call it before the first byte. A denied request is answered and
 * left out. So h2_read() returns how many bytes are done with, h2_output() what to send to the
 * server instead, and header fields are encoded anew. */
bool h2_judge(struct h2 *h, h2_requested *requested); /* false without memory */
bool h2_is_judged(const struct h2 *h);
bool h2_waits(const struct h2 *h);
bool h2_resume(struct h2 *h);                    /* false to refuse, as h2_read() */
struct buf *h2_output(struct h2 *h);             /* the caller empties it */
struct h2_answers *h2_own_answers(struct h2 *h); /* for the client */
void h2_free(struct h2 *h);                      /* NULL is allowed */

/* Returns how many of the n bytes may be passed on. The caller passes the rest again, followed by
 * more. Returns -1 to refuse; h2_wrong() has the reason. */
ssize_t h2_read(struct h2 *h, const uint8_t *data, size_t n);
/* NULL: the caller rejected a name. */
const char *h2_wrong(const struct h2 *h);

#endif
