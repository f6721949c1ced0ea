/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_IMPLIED_H
#define BK_VOCAB_IMPLIED_H

#include "vocab/vocab.h"

/* Rules that every profile has: signal to self and the like. The last row has op == OP_NONE.
 * versions: bit 0 for (version 1), and so on. */
struct vocab_implicit {
    uint16_t op, filter;
    int64_t value;
    uint8_t versions;
};
extern const struct vocab_implicit vocab_implicit_rules[];

/* Rules that a written rule implies; they come where the implicit ones do. The last row has op ==
 * OP_NONE. */
struct vocab_inferred {
    uint16_t cause; /* the operation that some rule allows, */
    bool filtered;  /* or allows or denies under a condition */
    uint16_t op, filter;
    int64_t value;
    const char *text; /* for filters that take one; else NULL */
    uint8_t versions;
};
extern const struct vocab_inferred vocab_inferred_rules[];

#endif
