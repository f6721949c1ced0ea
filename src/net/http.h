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
 * HTTP/1 as the gate must read it. The server has to understand each byte the same way, or a client
 * could hide one request inside another. So anything that a lenient server might read differently
 * is refused: lower-case methods, bare line feeds, folded lines, white space before colons, two
 * lengths, a length together with chunks, chunk extensions that are not plain text.
 */

enum http_result { HTTP_MORE, HTTP_BAD, HTTP_FOUND };

enum http_form {
    HTTP_ORIGIN,    /* /path */
    HTTP_ABSOLUTE,  /* http://host/path */
    HTTP_AUTHORITY, /* host:port, with CONNECT */
    HTTP_ASTERISK,  /* * */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

/* Protocols that a connection may upgrade to and that the gate reads: a bit set. */
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
    size_t size; /* of the whole header, including its empty line */
    struct slice method, target;
    struct slice path; /* the target without scheme and host */
    uint8_t minor;     /* HTTP/1.minor */
    uint8_t form;      /* enum http_form */
    uint8_t framing;   /* enum http_framing */
    bool close, upgrade;
    uint8_t upgrade_to; /* enum http_upgrade, from the Upgrade field */
    bool named; /* host is set, by the target or a Host field; they agree if both are present */
    struct peer host; /* with port; 0: not given */
    uint16_t port;
    uint64_t length;
    struct slice proxy_authorization;
    struct http_field fields[HTTP_FIELDS];
    size_t nfields;
    const char *wrong; /* HTTP_BAD: the reason */
};

/* On HTTP_FOUND, slices in *out point into data. */
enum http_result http_head_read(const char *data, size_t n, struct http_head *out);

/* Upper case only, as all methods are. Servers disagree on others, such as "head", and so on where
 * the answer ends. */
bool http_is_method(const char *s, size_t n);

/* Appends the header as a proxy forwards it: origin form, without hop-by-hop fields. */
void http_head_forward(const struct http_head *h, struct buf *out);

/* Writes "Basic …", an Authorization value; user and password have at most 127 bytes each. */
enum { HTTP_BASIC = 360 };
void http_basic(const char *user, const char *password, char out[HTTP_BASIC]);

/* ---- answers ---- */

/* The gate follows an answer only to find its end, where the next request may start. It passes the
 * bytes on unchanged. */
struct http_answer {
    size_t size;
    uint16_t status;
    uint8_t framing;  /* enum http_framing */
    bool until_close; /* the body ends when the connection closes */
    bool close;
    uint64_t length;
};

/* head: the request was HEAD, so the answer has no body. */
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
/* Returns how many of the n bytes belong to this body, or -1 if they are malformed. */
ssize_t http_body_take(struct http_body *b, const char *data, size_t n);
/* The same for bytes that are all inside the body, or all of its framing. */
ssize_t http_body_next(struct http_body *b, const char *data, size_t n, bool *inside);
bool http_body_is_over(const struct http_body *b);

#endif
