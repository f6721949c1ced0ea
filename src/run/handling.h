/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_HANDLING_H
#define BK_RUN_HANDLING_H

#include "base/err.h"

struct run;

/* Reads what the spec says about the handling of allowed connections, with the files that it names,
 * into r->handling. */
int run_handling(struct run *r, struct bk_err *err);

#endif
