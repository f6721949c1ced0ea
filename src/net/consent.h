/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_CONSENT_H
#define BK_NET_CONSENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * Asking the user. If the policy neither allows a host nor denies it by name, the gate can send a
 * question to the process that runs the command. The connection waits for the answer. The judge
 * does the same for a write to a protected name. Questions and answers are fixed-size messages over
 * a socket pair, one for each of the two; no sandboxed process holds an end of it.
 */
enum consent {
    CONSENT_ONCE = 1, /* allow the connections or calls that wait for this answer, nothing later */
    CONSENT_RUN,      /* allow this host and port, or this class, from now on */
    CONSENT_ALWAYS,   /* the same, and the user's settings have it too */
    CONSENT_DENY,     /* deny this host and port, or this class */
    CONSENT_DENY_ALL, /* the same, and ask no more questions */
    CONSENT_TIMEOUT,  /* nobody answered in time */
    CONSENT_NOBODY,   /* nobody can be asked */
    CONSENT_COUNT,
};

enum { CONSENT_PROGRAM = 256, CONSENT_PATH = 4096, CONSENT_MS = 60000 /* wait for an answer */ };
/* The class of a question about starting a command, which a rule of the settings asks about. */
enum { CONSENT_COMMAND = 255 };
/* The judge's numbers have this bit, the gate's do not. */
#define CONSENT_OF_JUDGE 0x80000000u

struct consent_question {
    uint32_t id;             /* never 0 */
    int32_t pid;             /* the process that wants to connect; 0: unknown */
    uint32_t wait_ms;        /* then the answer is no */
    uint16_t port;           /* the destination port */
    bool udp;                /* datagrams rather than a connection */
    bool withdrawn;          /* drop the question: nothing waits for its answer any more */
    uint8_t class;           /* 0: a host; else 1 + enum protected_class, and the path counts; or
                                CONSENT_COMMAND */
    char path[CONSENT_PATH]; /* canonical, of the protected name; or the command, without secrets */
    char host[PEER_MAX + 1]; /* a name or an address, in canonical form; or the rule's pattern */
    char program[CONSENT_PROGRAM]; /* the program it runs, if known */
};

struct consent_reply {
    uint32_t id;
    uint32_t answer; /* enum consent */
};

/* Parse a received message. Return false if it is malformed. */
bool consent_question_read(const void *bytes, size_t n, struct consent_question *out);
bool consent_reply_read(const void *bytes, size_t n, struct consent_reply *out);

/* Answers a question, from any thread. Returns 0 or a negative errno. Answers to finished questions
 * have no effect. */
int consent_answer(int channel, uint32_t id, enum consent answer);

/* Calls `fn` with every answer of this process, in the thread that gives it. Set it before the
 * first question. */
void consent_watch(void (*fn)(uint32_t id, enum consent answer));

/* Answers as words, between a run and its session: "once", "run", "deny-all". An unknown word or
 * NULL is CONSENT_NOBODY. */
const char *consent_word(enum consent answer);
enum consent consent_of_word(const char *word);

/* What a question that is not about a host is about: a class of protected names, or "command". */
const char *consent_class_name(const struct consent_question *q);

/* The reason for a refusal, or NULL if the answer allows. */
const char *consent_reason(enum consent answer);

#endif
