/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_HOLDER_H
#define BK_NODE_HOLDER_H

#include <stdbool.h>

#include "base/err.h"
#include "node/keep.h"

/* A process that keeps descriptors while there is no agent. It listens beside the agent's socket,
 * for root and its own user. One agent uses it at a time. */

/* What both sides send, with descriptors. */
enum hold_op { HOLD_KEEP = 'K', HOLD_DROP = 'D', HOLD_END = 'E', HOLD_BUSY = 'B' };

struct hold_message {
    char op; /* enum hold_op */
    char name[KEEP_NAME];
};

/* The holder's address for an agent's socket. */
int holder_address(const char *socket, char out[108], struct bk_err *err);

/* Connects; starts a holder if there is none. Returns the connection, or -1. */
int holder_connect(const char *socket, unsigned wait, struct bk_err *err);

/* Holds in this process. stay: after the time as well, without what it held. Returns when there is
 * nothing to hold, or -1. */
int holder_serve(const char *socket, unsigned wait, bool stay, struct bk_err *err);

#endif
