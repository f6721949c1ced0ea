/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_ASK_H
#define BK_AGENT_SESSION_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/json.h"
#include "base/buf.h"

/*
 * Questions of a session's runs, for users who follow its log at a terminal (`buckle log
 * --follow`). Every one of them sees a question, and the first answer counts. If nobody watches,
 * the answer is no at once. The judge of the run keeps the time.
 *
 *   {"watch": true}                  → {"ok": true}; from then on the session sends questions:
 *                                    {"question": {…}, "number": N, "command": TEXT}
 *                                    {"withdrawn": N}: nobody waits for this one any more
 *   {"answer": N, "consent": "once"}   no answer
 *   {"watch": false}                 → {"ok": true}; stops it
 *   {"questions": true}              → {"ok": true, "questions": [{"question": {…}, "number": N,
 *                                    "command": TEXT}]}: those that wait, for anybody
 */
enum { SESSION_WATCHERS = 8, SESSION_QUESTIONS = 64 };

struct session;

struct session_ask {
    int watchers[SESSION_WATCHERS]; /* sockets */
    size_t nwatchers;
    struct session_question {
        uint32_t number; /* 0: unused */
        uint32_t id;     /* the run's number for it */
        uint64_t run;
        json_t *message; /* as watchers get it; owned */
    } questions[SESSION_QUESTIONS];
    uint32_t last;
};

/* Returns false if there are too many watchers. */
bool session_ask_watch(struct session *k, int client, bool on);
/* A run asks. Answers "nobody" if nobody watches. */
void session_ask_question(struct session *k, uint64_t run, const char *command,
                          const json_t *question);
/* A run no longer waits for question `id`; 0: for any, it has ended. */
void session_ask_withdraw(struct session *k, uint64_t run, uint32_t id);
/* Those that wait. */
void session_ask_list(const struct session *k, struct buf *out);
void session_ask_end(struct session *k);
/* A watcher's answer. */
void session_ask_answer(struct session *k, int client, const json_t *answer);

#endif
