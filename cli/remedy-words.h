/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_REMEDY_WORDS_H
#define BK_CLI_REMEDY_WORDS_H

#include <stdbool.h>

/* From here on remedies name flags of the command line; compat: that was called by the name of
 * another program. Call it before anything can fail. */
void cli_word_remedies(bool compat);

#endif
