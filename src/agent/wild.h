/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#ifndef BK_AGENT_WILD_H
#define BK_AGENT_WILD_H

#include <stdbool.h>
#include <stddef.h>

/* Patterns of agents' rules about commands: `*` is any characters, also none. */
enum wild {
    WILD_ESCAPES, /* and \* is a star */
    WILD_ONE,     /* and ? is one character */
};

/* Whether all of the text fits. */
bool wild_fits(const char *pattern, size_t pattern_len, const char *text, size_t len,
               enum wild kind);

#endif
