/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_HTTP_H
#define BK_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "graph/peer.h"

/*
 * HTTP/1 requests as a gate must see them: whoever stands behind it has to understand each byte the
 * same way, or a request could be hidden in another. So what a lenient server might read
 * differently is refused: methods in small letters, bare line feeds, folded lines, white space
 * before colons, two lengths, a length beside chunks, chunks with extensions that are not plain
 * text.
 */

enum http_result { HTTP_MORE, HTTP_BAD, HTTP_FOUND };

enum http_form {
    HTTP_ORIGIN,    /* /path */
    HTTP_ABSOLUTE,  /* http://host/path */
    HTTP_AUTHORITY, /* host:port, with CONNECT */
    HTTP_ASTERISK,  /* * */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

/* What a connection is to become, beyond what nobody reads: bits. */
enum http_upgrade { HTTP_TO_H2 = 1, HTTP_TO_TLS = 2 };

enum { HTTP_HEAD_MAX = 64 << 10, HTTP_FIELDS = 128 };

struct slice {
    const char *s;
    size_t n;
};

struct http_field {
    struct slice name, value;
};

struct http_head {
    size_t size; /* of the whole head, with its empty line */
    struct slice method, target;
    struct slice path; /* what is asked of the server: of the target, without scheme and host */
    uint8_t minor;     /* HTTP/1.minor */
    uint8_t form;      /* enum http_form */
    uint8_t framing;   /* enum http_framing */
    bool close, upgrade;
    uint8_t upgrade_to; /* enum http_upgrade, of what the field lists */
    bool named;         /* by the target or by a Host field, which agree when there are both */
    struct peer host;   /* with this port; 0: not said */
    uint16_t port;
    uint64_t length;
    struct slice proxy_authorization;
    struct http_field fields[HTTP_FIELDS];
    size_t nfields;
    const char *wrong; /* HTTP_BAD: in words */
};

/* Slices point into data. */
enum http_result http_head_read(const char *data, size_t n, struct http_head *out);

/* Capital letters, as all methods have. Servers differ on others, "head" among them, and so on
 * where the answer ends. */
bool http_is_method(const char *s, size_t n);

/* The head as it goes on from a proxy: origin form, without what concerned only the proxy. */
void http_head_forward(const struct http_head *h, struct buf *out);

/* "Basic …", as clients send user and password; of each at most 127 bytes. */
enum { HTTP_BASIC = 360 };
void http_basic(const char *user, const char *password, char out[HTTP_BASIC]);

/* ---- answers ---- */

/* An answer is only followed to its end, so that the next request can be told from this one's
 * body; it is passed on as it came. */
struct http_answer {
    size_t size;
    uint16_t status;
    uint8_t framing;  /* enum http_framing */
    bool until_close; /* the body ends with the connection */
    bool close;
    uint64_t length;
};

/* head: the request was a HEAD, whose answer has no body. */
enum http_result http_answer_read(const char *data, size_t n, bool head, struct http_answer *out);

/* ---- bodies ---- */

struct http_body {
    uint8_t framing; /* enum http_framing */
    uint8_t state;
    uint8_t digits;
    uint32_t line;
    uint64_t left;
};

void http_body_start(struct http_body *b, uint8_t framing, uint64_t length);
/* How many of the n bytes belong to this body; -1 when they are malformed. */
ssize_t http_body_take(struct http_body *b, const char *data, size_t n);
bool http_body_is_over(const struct http_body *b);

#endif
