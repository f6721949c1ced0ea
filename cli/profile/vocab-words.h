/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef CLI_VOCAB_WORDS_H
#define CLI_VOCAB_WORDS_H

#include "cli/profile/doc.h"
#include "vocab/vocab.h"

/* A question to `buckle vocab`. */
struct vocab_query {
    enum vocab_os os; /* VOCAB_OS_ANY: all versions */
    unsigned kinds;   /* 1 << enum vocab_kind */
    bool json;
    const char *asked; /* the name as given, or NULL */
};

#define VOCAB_NEWEST VOCAB_MACOS_14_4_1

/* Words for the arguments of filters and modifiers, and for the actions that take a modifier. */
extern const char *const vocab_arg_words[], *const vocab_action_words[],
                                                *const vocab_mod_arg_words[];

/* Each describes one word. */
void vocab_show_op(struct doc *d, unsigned op, const struct vocab_query *q);
void vocab_show_filter(struct doc *d, unsigned filter, const struct vocab_query *q);
void vocab_show_modifier(struct doc *d, unsigned mod, const struct vocab_query *q);
/* Describe every word with this name or id. Return how many. */
size_t vocab_show_name(struct doc *d, const char *name, const struct vocab_query *q);
size_t vocab_show_id(struct doc *d, int id, const struct vocab_query *q);

#endif
