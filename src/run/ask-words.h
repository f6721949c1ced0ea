/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_ASK_WORDS_H
#define BK_RUN_ASK_WORDS_H

#include "base/buf.h"
#include "net/consent.h"

/* The words of a question on a terminal, and the keys that answer it. */
enum {
    ASK_KEY_INTERRUPT = 3,
    ASK_KEY_END = 4,
    ASK_KEY_SESSION = 's',
    ASK_DEAF_MS = 300, /* after a question has appeared: what was typed was meant for another */
};

struct ask_choices {
    bool session; /* "s": for all commands of the session */
    bool always;  /* "a": the user's settings */
};

/* Who wants what, and the choices. */
void ask_words_question(const struct consent_question *q, struct ask_choices can, struct buf *out);
/* The answer that a key means, or 0. ASK_KEY_SESSION is the caller's business. */
enum consent ask_words_key(char key);
/* What is shown after the answer, a line; 0: the question was withdrawn. */
const char *ask_words_answer(enum consent answer);

#endif
