/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_FIRST_H
#define BK_NET_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether the first line of a client is a request's, read as leniently as any server might: a
 * request ends in a word such as HTTP/1.1, in either case, with any white space around it and empty
 * lines before it. FTP, SMTP, IRC, NATS, RTSP, SIP and Redis have lines that begin like a request,
 * and none that ends so. Reads each byte once and keeps nothing.
 */
enum first_result {
    FIRST_MORE,  /* the line has not ended */
    FIRST_HTTP,  /* it ends as a request does */
    FIRST_OTHER, /* it ends otherwise, or is longer than any request's */
};

struct first {
    uint32_t size;    /* of the line so far */
    uint8_t matched;  /* of the current word: "http/" and a digit */
    bool word;        /* a word has begun, */
    bool mismatch;    /* which is not that one */
    bool last_http;   /* the word before it was */
    bool begun;       /* the line is more than white space */
    bool blank_first; /* there were lines of white space before it */
};

/* What a server could take for one line at most: Go's reads a head of a mebibyte. */
enum { FIRST_MAX = 2 << 20 };

/* Goes on with n more bytes. Once it has said something else than FIRST_MORE it is not called
 * again. */
enum first_result first_read(struct first *f, const char *data, size_t n);
/* The client has ended: what the bytes so far are. Not FIRST_MORE. */
enum first_result first_end(const struct first *f);

#endif
