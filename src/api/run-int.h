/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_RUN_INT_H
#define BK_API_RUN_INT_H

#include <pthread.h>

#include "api/helper.h"
#include "api/wire.h"
#include "net/consent.h"

/* A message that waits for its callback, or for its request. */
struct note {
    struct note *next;
    size_t n;
    char bytes[];
};

struct notes {
    struct note *first, **last; /* last is NULL while it is empty */
};

struct buckle_run {
    /* what it was started with */
    buckle_event_fn *on_event;
    buckle_question_fn *on_question;
    void *event_arg, *question_arg;
    struct buckle_store *store;
    struct buckle_manager *manager;
    uint64_t id;
    char *text;

    const struct buckle_command *command; /* of a run that has been prepared, until it begins */
    int orders;                           /* then: to the child that holds it, or -1 */

    struct helper helper;
    bool by_signal; /* on macOS: it only reacts to signals */
    int group;      /* the socket, the child's end, and: */
    int ready;      /* a flag, readable while something waits to be delivered */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t idle;  /* no thread delivers */
    bool delivering;
    struct buf in;
    struct notes waiting, replies;
    uint64_t asked; /* number of the last request */
    bool over;      /* no more messages */
    bool ended;     /* with an end message, or: */
    struct buckle_error *failure;
    int status; /* as waitpid() has it */
    bool timed_out, cancelled, cancel_sent;
};

struct buckle_event {
    bool denied;
    uint64_t time_ns, lost;
    int pid;
    const char *program, *operation, *target, *line, *json;
};

struct buckle_question {
    struct consent_question q;
};

/* running.c; the lock is held. */
void run_pump(struct buckle_run *run);
int run_send(struct buckle_run *run, struct buf *message);
void run_drop_notes(struct buckle_run *run); /* frees them */

#endif
