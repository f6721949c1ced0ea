/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_ASK_TTY_H
#define BK_RUN_ASK_TTY_H

#include <pthread.h>
#include <stdbool.h>

#include "net/consent.h"

/*
 * Asks on the terminal, one question after the other. While a question is shown, every process of
 * the sandbox is stopped: it could overwrite the question or read the answer. Keys that were typed
 * before the question do not count.
 */
struct ask_tty {
    bool started;
    pthread_t thread;
    int questions[2]; /* to the thread that asks; numbers of those it has answered come back */
    /* Saves a host or a class for all later runs; called in the thread that asks. Returns false on
     * failure. NULL: "always" is not offered. */
    bool (*remember)(void *arg, const struct consent_question *q);
    void *arg;
};

/* Takes a new or withdrawn question, as launch.on_question gets it. Never blocks. */
void ask_tty_question(struct ask_tty *a, const struct consent_question *q, int channel);
/* Restores the terminal. Call it when the command has ended. */
void ask_tty_end(struct ask_tty *a);

#endif
