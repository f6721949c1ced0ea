/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_SPARE_WORDS_H
#define BK_CLI_RUN_SPARE_WORDS_H

#include "cli/run/run-spare.h"

/* Variables that differ from command to command, and that nothing here reads; ends in NULL. */
extern const char *const spare_volatile[];

/* Whether the policy is the same in every working folder, where the command then starts. */
bool spare_is_anywhere(const struct spare_call *c);

/* The command line of the spare for a call, each word with its NUL. */
bool spare_words(const struct spare_call *c, struct buf *out);

#endif
