/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_REMEDY_WORDS_H
#define BK_CLI_REMEDY_WORDS_H

/* From here on remedies name flags of the command line. Call it before anything can fail. */
void cli_word_remedies(void);

#endif
