/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_RULE_WORDS_H
#define BK_VOCAB_RULE_WORDS_H

#include "vocab/vocab.h"

/* The words "allow-read", "deny-write", "allow-net"… (rule-words.def). */
struct rule_word {
    const char *word;
    bool allow;
    uint16_t op; /* OP_FILE_READ, OP_FILE_WRITE, OP_NETWORK_OUTBOUND, OP_PROCESS_EXEC */
    enum rule_value {
        RULE_VALUE_PATH,
        RULE_VALUE_HOST,
        RULE_VALUE_REQUEST, /* "GET api.example.com/v1": settings/request-rule.h */
        RULE_VALUE_CLASSES, /* "editors,agents": vocab/protected-classes.h */
        RULE_VALUE_COMMAND  /* "git push *": a pattern that the user has agreed to */
    } takes;
};

extern const struct rule_word rule_words[];
extern const size_t rule_word_count;

/* Returns NULL if there is no such word. */
const struct rule_word *rule_word_find(const char *word);

/* A host, or a request to one. */
static inline bool rule_word_takes_host(const struct rule_word *w)
{
    return w->takes == RULE_VALUE_HOST || w->takes == RULE_VALUE_REQUEST;
}

#endif
