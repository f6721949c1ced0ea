/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_FIRST_LINE_H
#define BK_NET_FIRST_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether the first line of a client is a request's, read as leniently as any server might: a
 * request ends in a word such as HTTP/1.1, in either case, with any white space around it and empty
 * lines before it. FTP, SMTP, IRC, NATS, RTSP, SIP and Redis have lines that begin like a request,
 * and none that ends so. Reads each byte once and keeps nothing.
 *
 * A server may pass over a line that it does not understand. So lines that follow are looked at as
 * well, until the server has said something: there a request has three words, since what people
 * write may end in anything.
 */
enum first_line_result {
    FIRST_MORE,  /* the line has not ended */
    FIRST_HTTP,  /* it ends as a request does */
    FIRST_OTHER, /* it ends otherwise, or is longer than any request's */
};

struct first_line {
    uint32_t size;    /* of the line so far, or of all that follow */
    uint8_t matched;  /* of the current word: "http/" and a digit */
    uint8_t words;    /* of the line, with the current one; at most 4 */
    bool word;        /* a word has begun, */
    bool mismatch;    /* which is not that one */
    bool last_http;   /* the word before it was */
    bool begun;       /* the line is more than white space */
    bool blank_first; /* there were lines of white space before it */
    bool following;   /* it is not the first any more */
    size_t left;      /* bytes behind the line, of those that were given last */
};

/* What a server could take for one line at most: Go's reads a head of a mebibyte. And how much is
 * looked at behind the first line. */
enum { FIRST_MAX = 2 << 20, FIRST_FOLLOWING = 64 << 10 };

/* Goes on with n more bytes. Once it has said something else than FIRST_MORE it is not called
 * again, unless by way of first_line_follow(). */
enum first_line_result first_line_read(struct first_line *f, const char *data, size_t n);
/* The client has ended: what the bytes so far are. Not FIRST_MORE. */
enum first_line_result first_line_end(const struct first_line *f);
/* The first line was something else; goes on with those that follow it. FIRST_OTHER: there were so
 * many that no more are looked at. */
void first_line_follow(struct first_line *f);

#endif
