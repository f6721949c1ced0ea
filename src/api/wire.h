/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_WIRE_H
#define BK_API_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Messages between a program and the process that runs a command for it, over a stream socket: a
 * kind and a length, then numbers and texts. Both ends are the same program; lengths are checked
 * all the same.
 */
enum wire_kind {
    /* to the program */
    WIRE_EVENT = 1,
    WIRE_QUESTION,
    WIRE_REPLY,  /* to an update or a grant */
    WIRE_FAILED, /* it could not be run */
    WIRE_ENDED,
    /* from it */
    WIRE_SIGNAL,
    WIRE_CANCEL,
    WIRE_ANSWER,
    WIRE_SETTINGS,
    WIRE_TEXT,
    WIRE_GRANT,
};

enum { WIRE_MOST = 8 << 20 }; /* bytes of a message */

/* Writing: wire_begin() … wire_end(), which fills in the length; *at is where it began. */
size_t wire_begin(struct buf *out, enum wire_kind kind);
void wire_end(struct buf *out, size_t at);
void wire_number(struct buf *out, uint64_t value);
void wire_text(struct buf *out, const char *s, size_t n); /* with a NUL after it */

/* Reading what has come. */
struct wire_message {
    uint32_t kind;
    const char *at; /* what is left of it */
    size_t left;
    bool bad; /* it was too short for a read; sticky */
};

/* Finds the first message in a buffer. Returns its size in bytes, 0 if it is incomplete, -1 if it
 * is invalid. */
long wire_first(const char *bytes, size_t n, struct wire_message *out);
uint64_t wire_take_number(struct wire_message *m);
const char *wire_take_text(struct wire_message *m, size_t *n); /* n may be NULL; never NULL */

/* An error, as a part of a message. */
void wire_error(struct buf *out, const struct bk_err *err, const char *report, size_t n);
void wire_take_error(struct wire_message *m, struct bk_err *err, struct buf *report);

/* Appends what can be read without waiting. Returns 1, 0 if there is nothing, or -1 at the end. */
int wire_receive(int sock, struct buf *into);
/* Sends what the socket takes without waiting, and removes it. Returns 0, or -1 if the other end is
 * closed. */
int wire_send(int sock, struct buf *from);
void wire_forget(struct buf *b, size_t n); /* the first n bytes */

#endif
