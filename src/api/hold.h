/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_HOLD_H
#define BK_API_HOLD_H

#include "api/helper.h"
#include "command/order.h"
#include "run/run.h"

/*
 * A run that is prepared and holds its command until the program says what to execute, by an order
 * (command/order.h). Then everything that the sandbox was made from is gathered again, by the code
 * that made it. Only if not one byte has changed, the command is let go. Otherwise this process
 * ends, and the program starts another.
 */
struct hold {
    bool on;
    int orders; /* socket from the program */
    const struct buckle_command *c;
    const struct prepared *prepared;
    struct run *run;
    /* Sets callbacks as those of the run that waits. */
    void (*fill)(void *arg, struct run_spec *spec);
    void (*begin)(void *arg, char *const *argv); /* right before the command starts */
    void *arg;

    struct buf inputs; /* that the sandbox depends on */
    struct order_in in;
    bool held, complete, taken, given_up;
};

void hold_held(struct hold *h);    /* for launch.on_held */
void hold_receive(struct hold *h); /* its socket is readable */
/* The run has ended. If it never got a command: waits for the order, answers that this sandbox is
 * stale, and returns true. `program` is readable when the program has ended. */
bool hold_was_stale(struct hold *h, int program);

/* In the program. Sends an order. Returns ORDER_TAKEN; ORDER_STALE; or 0 if the other end is
 * closed. */
char hold_order(int orders, const char *const *argv, const int *stdio);

#endif
