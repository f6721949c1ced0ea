/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_ASKED_H
#define BK_WINDOW_ASKED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Questions that wait, for the terminal view: the oldest is asked, and the others after it.
 *
 * One key is enough to answer. So keys do not count for a moment after another question has
 * appeared: they were meant for the one before.
 */
enum { ASKED_MOST = 64 };

struct asked {
    struct asked_question {
        pid_t source;
        uint32_t number;
        char *text; /* safe to show */
    } at[ASKED_MOST];
    size_t n;
    uint64_t since_ms; /* when the first appeared */
};

/* Keeps a question, or replaces it: sources repeat theirs. If there is no room, it is not kept: the
 * run's own terminal and other windows have it. */
void asked_add(struct asked *a, pid_t source, uint32_t number, const json_t *question);
/* number: 0 for all questions of the source. */
void asked_drop(struct asked *a, pid_t source, uint32_t number);
/* The one to show, or NULL. */
const struct asked_question *asked_first(const struct asked *a);
/* Whether the first has been there for long enough that a key is meant for it. */
bool asked_listens(const struct asked *a);
/* The answer (window_answer()) that a key means, or NULL. */
const char *asked_answer(int key);
void asked_free(struct asked *a);

#endif
