/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_LOG_ASK_H
#define BK_CLI_RUN_LOG_ASK_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "net/consent.h"

/*
 * Asks the user who follows a session's log at a terminal about protected names that the session's
 * commands want to change (agent/session-ask.h).
 */
enum { LOG_ASK_QUEUE = 16, LOG_ASK_COMMAND = 80 };

struct log_ask {
    int session;   /* socket, -1: nobody is asked here */
    int log;       /* another one to the same session, for grants */
    pid_t process; /* the session's */
    bool away;     /* nobody answered: no questions until a key is pressed */
    bool stopped;  /* the user wants no more questions */
    struct termios mode;
    size_t n;
    struct log_question {
        uint32_t number;
        uint64_t until_ms;
        char command[LOG_ASK_COMMAND];
        struct consent_question q;
    } queue[LOG_ASK_QUEUE]; /* the first is asked */
};

/* Does nothing unless standard input and output are a terminal. log: a connection to the session
 * `process`. */
void log_ask_begin(struct log_ask *a, pid_t process, int log);
/* Waits for this long, and asks meanwhile. */
void log_ask_wait(struct log_ask *a, int ms);
void log_ask_end(struct log_ask *a);

#endif
