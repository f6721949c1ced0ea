/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_ORDER_H
#define BK_COMMAND_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * What the holder of a spare, or its client, tells the run that holds a command: one packet, then
 * one for each descriptor. The run answers with one byte; ORDER_TAKEN comes before the command
 * starts, and without it the command does not start. How it ended follows as an int (waitpid).
 */
enum { ORDER_MOST = 112 << 10, ORDER_STDIO = 3 };
enum order_answer { ORDER_READY = 'r', ORDER_TAKEN = 'g', ORDER_STALE = 's' };
/* What the holder may send before the order, and later: it comes soon; a signal follows. */
enum order_word { ORDER_SOON = 'c', ORDER_SIGNAL = 'k' };

struct order {
    const char *start;  /* where the command starts; "": where the run says */
    const char *text;   /* the command as people wrote it, or "" */
    bool asks;          /* the session can ask the user */
    bool stdio;         /* three descriptors follow */
    char **argv, **env; /* env: see struct launch_order. Both end in NULL */
};

void order_write(const struct order *o, struct buf *out);
/* Points into bytes, which must end in NUL. Returns false if that is no order. Free with
 * order_free() if it returns true. */
bool order_read(char *bytes, size_t n, struct order *out);
void order_free(struct order *o);
#define OWN_order order_free

/* An order that comes in, packet by packet. */
struct order_in {
    char *bytes; /* what the order points into */
    struct order order;
    int stdio[ORDER_STDIO];
    size_t nstdio;
};

/* A packet: bytes, or a descriptor (passed is not -1), which is taken over. Returns 1 if the order
 * is complete with it, 0 if more has to follow, and -1 if that is no order. */
int order_in_take(struct order_in *o, const char *bytes, size_t n, int passed);
void order_in_free(struct order_in *o); /* closes the descriptors */

#endif
