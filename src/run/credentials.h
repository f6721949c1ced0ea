/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_CREDENTIALS_H
#define BK_RUN_CREDENTIALS_H

#include <stddef.h>

#include "base/err.h"

struct run;
struct run_spec;

/* How many the spec names. */
size_t run_credentials_count(const struct run_spec *s);

/* Reads the credentials that the spec names, and makes their placeholders. Writes NAME=placeholder
 * to set, which has room for all of them. Returns how many, or -1. */
int run_credentials(struct run *r, const char **set, struct bk_err *err);

#endif
