/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_ASK_H
#define BK_CLI_RUN_RUN_ASK_H

#include "cli/run/invocation.h"

/* `buckle run --ask`: takes a question as launch.on_question gets it; arg is the invocation. */
void run_ask_question(void *arg, const struct consent_question *q, int channel);
/* When the command has ended: restores the terminal. */
void run_ask_end(struct invocation *r);

#endif
