/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef CLI_VOCAB_WORDS_H
#define CLI_VOCAB_WORDS_H

#include "cli/profile/doc.h"
#include "vocab/vocab.h"

/* What `buckle vocab` was asked for. */
struct vocab_query {
    enum vocab_os os; /* VOCAB_OS_ANY: not said */
    unsigned kinds;   /* 1 << enum vocab_kind */
    bool json;
    const char *asked; /* the name as it was given; NULL when there is none */
};

#define VOCAB_NEWEST VOCAB_MACOS_14_4_1

/* What a filter and a modifier take (by enum vocab_arg and its kin), where a modifier stands. */
extern const char *const vocab_arg_words[], *const vocab_action_words[],
                                                *const vocab_mod_arg_words[];

/* Each describes one word. */
void vocab_show_op(struct doc *d, unsigned op, const struct vocab_query *q);
void vocab_show_filter(struct doc *d, unsigned filter, const struct vocab_query *q);
void vocab_show_modifier(struct doc *d, unsigned mod, const struct vocab_query *q);
/* Every word that is called so, or has this id: how many. */
size_t vocab_show_name(struct doc *d, const char *name, const struct vocab_query *q);
size_t vocab_show_id(struct doc *d, int id, const struct vocab_query *q);

#endif
