/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_INT_H
#define BK_AGENT_SESSION_INT_H

#include "agent/session.h"

/* What the handlers of a session share. */
struct session_run {
    int client;
    uint64_t number;
    pid_t pid; /* 0: not known yet */
    char *command;
    int link;                 /* to its servers (session-loopback.h); 0: none */
    bool left;                /* the command has ended, and background processes go on */
    bool spare, dropped;      /* it has no command yet, and will not get one */
    size_t grants;            /* that there were when it joined; none is ever taken back */
    struct folder_user moves; /* whose folder it changes */
};

struct session_run *session_find_run(const struct session *k, int client);
struct session_run *session_find_number(const struct session *k, uint64_t number);
/* Whether somebody is there who can be asked. */
bool session_can_ask(const struct session *k);

/* ---- session-spare.c ---- */

/* Whether a run that has ended should start the next spare. */
bool session_wants_spare(const struct session *k);
/* Handlers of "spare" and "take". */
void session_keep_spare(struct session *k, int client, const json_t *m, struct buf *out);
void session_take_spare(struct session *k, int client, const json_t *m);
/* For the control server: somebody connects, and it was this process; a client is gone. */
void session_announce(void *arg);
void session_note_caller(void *arg, int client, pid_t pid);
void session_spare_left(struct session *k, int client);

#endif
