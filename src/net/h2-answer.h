/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_H2_ANSWER_H
#define BK_NET_H2_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Frames of our own among the server's: the answers to denied requests. They may go only between
 * two frames, and not into a header block, which spans several.
 */
struct h2_place {
    uint8_t head[9]; /* of the server's current frame */
    uint8_t nhead;
    bool begun;    /* the first frame has come, which must be the server's */
    bool in_block; /* its header block continues */
    uint32_t left; /* bytes of its payload that have not come yet */
};

struct h2_answers {
    struct h2_place at;
    struct buf waiting; /* our frames */
};

/* Follows n bytes of the server, before it is known whether they are HTTP/2. */
void h2_place_follow(struct h2_place *p, const uint8_t *data, size_t n);
/* How many of the server's next n bytes go to the client before our frames may. */
size_t h2_answers_follow(struct h2_answers *a, const uint8_t *data, size_t n);
bool h2_answers_may_send(const struct h2_answers *a);

struct h2_denial;
/* Adds an answer that ends the stream. stop: asks the client to send no more of it. */
void h2_answers_deny(struct h2_answers *a, uint32_t stream, const struct h2_denial *no, bool stop);
/* Returns to the client the room on the connection that dropped bytes have taken. */
void h2_answers_credit(struct h2_answers *a, uint32_t bytes);

#endif
