/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_FIRST_LINE_H
#define BK_NET_FIRST_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decides whether a client's first line is an HTTP request line, as leniently as any server might.
 * A request line ends in a word such as HTTP/1.1, in either case, with any white space around it
 * and blank lines before it. FTP, SMTP, IRC, NATS, RTSP, SIP and Redis have lines that start like a
 * request, but none that ends like one. Reads each byte once and stores nothing.
 *
 * A server may skip a line that it doesn't understand. So the following lines are checked too,
 * until the server answers. There a request line must have three words, because free text may end
 * in anything.
 */
enum first_line_result {
    FIRST_MORE,  /* the line is incomplete */
    FIRST_HTTP,  /* an HTTP request line */
    FIRST_OTHER, /* any other line, or longer than a request line can be */
};

struct first_line {
    uint32_t size;    /* of the line so far, or of all following lines */
    uint8_t matched;  /* bytes of the current word that match "http/" and a digit */
    uint8_t words;    /* in the line, including the current one; at most 4 */
    bool word;        /* inside a word */
    bool mismatch;    /* the word does not match */
    bool last_http;   /* the previous word matched */
    bool begun;       /* the line has more than white space */
    bool blank_first; /* blank lines came before it */
    bool following;   /* past the first line */
    size_t left;      /* bytes after the line, from the last call */
};

/* The longest line that a server could accept (Go reads a header of a mebibyte), and how many bytes
 * to check after the first line. */
enum { FIRST_MAX = 2 << 20, FIRST_FOLLOWING = 64 << 10 };

/* Reads n more bytes. After any result other than FIRST_MORE, call it again only after
 * first_line_follow(). */
enum first_line_result first_line_read(struct first_line *f, const char *data, size_t n);
/* Classifies the bytes so far after the client closed. Never returns FIRST_MORE. */
enum first_line_result first_line_end(const struct first_line *f);
/* The first line was something else: continue with the following ones. FIRST_OTHER then means that
 * enough lines were checked. */
void first_line_follow(struct first_line *f);

#endif
