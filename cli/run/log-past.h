/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_LOG_PAST_H
#define BK_CLI_RUN_LOG_PAST_H

#include "cli/run/log-print.h"

/* `buckle log` over a record of runs. path: NULL for the one that settings name. Each returns an
 * exit status. */
int log_past(struct log *l, const char *path);
int log_verify(const struct cli_args *args, const char *path);

#endif
