/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_FILTER_H
#define BK_CLI_AGENT_FILTER_H

#include "base/buf.h"
#include "cli/args.h"

/* Reads standard input to its end, at most 64 MiB. Returns 0 or -1. */
int filter_read(struct buf *out, struct bk_err *err);

#endif
