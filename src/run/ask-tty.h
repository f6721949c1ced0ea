/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_ASK_TTY_H
#define BK_RUN_ASK_TTY_H

#include <pthread.h>
#include <stdbool.h>

#include "net/consent.h"

/*
 * Asks on the terminal, one question after the other. While one stands there nothing inside the
 * sandbox runs: it could write over the question or read the answer. What was typed before it stood
 * there does not count.
 */
struct ask_tty {
    bool started;
    pthread_t thread;
    int questions[2]; /* to the thread that asks */
    int channel;      /* where answers go */
    /* Writes a host (name:port) down for all runs to come, in the thread that asks; false when that
     * failed. NULL: nobody can be told "always". */
    bool (*remember)(void *arg, const char *host);
    void *arg;
};

/* A question that has come, or been withdrawn: as run_spec.on_question has it. Never waits. */
void ask_tty_question(struct ask_tty *a, const struct consent_question *q, int channel);
/* Puts the terminal back as it was. Called when the command has ended. */
void ask_tty_end(struct ask_tty *a);

#endif
