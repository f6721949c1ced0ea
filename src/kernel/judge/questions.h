/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_QUESTIONS_H
#define BK_KERNEL_JUDGE_QUESTIONS_H

#include "graph/command.h"
#include "graph/eval.h"
#include "kernel/judge/request.h"
#include "vocab/protected-classes.h"

/*
 * Asking the user about protected names. If the policy denies a call only because of a class of
 * protected names, and somebody can be asked, the call waits (waiting-calls.h) while the user sees
 * program, file and class. After the answer the judge judges the call from the start:
 *
 *   once     the class is not protected at this path and below, for the calls that waited
 *   run      the class is not protected any more
 *   deny     calls are denied as usual, and nobody is asked about this class again
 *
 * An answer is for a path and the folder that was there when the question was asked. A call that
 * leads elsewhere by then is another question.
 */

enum {
    QUESTIONS_OPEN = 32, /* at once */
    QUESTIONS_ALL = 100, /* in one run; then the answer is no */
    QUESTIONS_EACH = 4,  /* of one call */
    /* Classes of protected names; then patterns of commands (commands.h), whose path is the command
     * itself. */
    QUESTION_CLASSES = PROTECTED_CLASSES + GRAPH_COMMANDS,
    /* An errno of our own: the call has to wait for the question `pending`. */
    ASKED = 4002,
};

struct question {
    uint32_t id; /* 0: unused */
    uint8_t class;
    uint8_t answer;    /* enum consent; 0: none yet */
    uint32_t calls;    /* that wait for it, or were granted by it */
    uint64_t until;    /* when the answer is no, or when to forget it; in milliseconds */
    pid_t tid;         /* who asked first */
    uint64_t dev, ino; /* of the folder of the path */
    size_t len;
    char path[PATH_BYTES * 2];
};

struct questions {
    int channel; /* to the controller; -1: nobody to ask */
    uint32_t wait_ms;
    bool has_facts;                  /* questions_facts() gives some */
    uint64_t lifted, refused;        /* sets of classes, for the rest of the run */
    uint64_t late[QUESTION_CLASSES]; /* nobody answered: don't ask until then */
    uint8_t closed;                  /* enum consent: ask no more, because of this */
    unsigned nasked, nopen;
    uint32_t last_id, pending;
    uint32_t granted[QUESTIONS_EACH + 1]; /* of the call that is judged again */
    uint32_t ngranted;
    const char *why; /* the reason for the next denial, or NULL */
    struct question all[QUESTIONS_OPEN];
};

void questions_begin(struct questions *q, int channel, uint32_t wait_ms);

static inline bool questions_can(const struct questions *q)
{
    return q->channel >= 0;
}

/* The classes that were allowed for this path, as facts; returns how many. */
size_t questions_facts(const struct questions *q, const char *path, size_t len,
                       struct graph_fact *f);
/* Asks about a denied call. Returns true if it has to wait for questions.pending. Otherwise the
 * denial stands, and `why` may say why. */
bool questions_ask(struct judge *j, const struct request *r, unsigned class, const char *path,
                   size_t len);
/* The patterns to which the user has agreed, for this command or for all. */
uint32_t questions_agreed(const struct questions *q, const char *command, size_t len);

/* The patterns of commands have changed: forgets what was asked and answered about them. */
void questions_forget_commands(struct questions *q);

/* ---- for waiting-calls.c ---- */

/* Whether a call that waits for this question goes on. */
bool questions_answered(const struct questions *q, uint32_t id);
/* A call begins to refer to a question, and ends. */
void questions_join(struct questions *q, uint32_t id);
void questions_leave(struct questions *q, uint32_t id);
/* The same once the call was answered: nobody needs the question any more. */
void questions_done(struct judge *j, uint32_t id);
/* Before a call is judged again: grants what was answered with "once", if the path still is in the
 * same folder. */
void questions_grant(struct questions *q, const uint32_t *ids, uint32_t n);
void questions_grant_end(struct questions *q);

/* ---- for the loop ---- */

/* Reads answers. Returns false if no more will come. */
bool questions_receive(struct questions *q);
/* Ends questions that nobody answered, and those of callers that are gone. */
void questions_sweep(struct judge *j);

#endif
