/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_SPARE_H
#define BK_CLI_RUN_RUN_SPARE_H

#include <stdint.h>

#include "base/buf.h"
#include "command/order.h"

/* A run that holds its command until it is known: `buckle run --spare`. */
struct spare {
    bool holds;         /* this is one */
    int holder;         /* socket to the process that keeps it; 0: not yet */
    int client;         /* to the process whose command it is; 0: not yet, -1: it knows the end */
    bool taken;         /* it has its command */
    uint64_t checked_ms; /* when nothing had changed for sure; 0: never */
    struct buf inputs;  /* that the sandbox depends on (run/run.h) */
    struct buf grants, links; /* rules that the session had granted */
    char *bytes;        /* of the order */
    struct order order; /* what it points to is in these */
    int stdio[ORDER_STDIO];
    size_t nstdio;
};

static inline bool spare_is_unused(const struct spare *s)
{
    return s->holds && !s->taken;
}

#endif
