/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_FORMAT_VERSIONS_H
#define BK_CLI_PROFILE_FORMAT_VERSIONS_H

#include "cli/args.h"
#include "vocab/vocab.h"

/* --os; VOCAB_OS_ANY without it. */
int versions_os(const struct cli_args *args, enum vocab_os *os, struct bk_err *err);
/* --changes A..B. On failure *a and *b are untouched. */
int versions_span(const char *text, enum vocab_os *a, enum vocab_os *b, struct bk_err *err);

#endif
