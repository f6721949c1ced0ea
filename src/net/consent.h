/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_CONSENT_H
#define BK_NET_CONSENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/peer.h"

/*
 * Asking a person. Where the policy neither names a host as denied nor allows it, the gate may put
 * the question to whoever runs the command, and whoever wants to connect waits. Questions and
 * answers are messages of fixed size over a socket pair, one each; nothing inside the sandbox has
 * an end of it.
 */
enum consent {
    CONSENT_ONCE = 1, /* those that are waiting for this answer, and nobody after them */
    CONSENT_RUN,      /* this host and port from now on */
    CONSENT_ALWAYS,   /* the same, and whoever was asked has written it down */
    CONSENT_DENY,     /* not this host and port */
    CONSENT_DENY_ALL, /* and nobody wants to be asked again */
    CONSENT_TIMEOUT,  /* nobody answered */
    CONSENT_NOBODY,   /* there is nobody to be asked */
    CONSENT_COUNT,
};

enum { CONSENT_PROGRAM = 256, CONSENT_MS = 60000 /* that an answer is waited for */ };

struct consent_question {
    uint32_t id;             /* never 0 */
    int32_t pid;             /* who wants to connect; 0: unknown */
    uint32_t wait_ms;        /* afterwards the answer is no */
    uint16_t port;           /* of the host, */
    bool udp;                /* to which datagrams are to be sent */
    bool withdrawn;          /* that question is to be forgotten: nobody waits for its answer */
    char host[PEER_MAX + 1]; /* a name or an address, in canonical form */
    char program[CONSENT_PROGRAM]; /* the file that it runs, as far as known */
};

struct consent_reply {
    uint32_t id;
    uint32_t answer; /* enum consent */
};

/* A received message; false when it is none. */
bool consent_question_read(const void *bytes, size_t n, struct consent_question *out);
bool consent_reply_read(const void *bytes, size_t n, struct consent_reply *out);

/* Answers a question, from any thread; 0 or a negated errno. Answers to questions that are over are
 * ignored. */
int consent_answer(int channel, uint32_t id, enum consent answer);

/* Why a connection was refused, in words; NULL for answers that allow. */
const char *consent_words(enum consent answer);

#endif
