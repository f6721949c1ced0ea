/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_EVENT_READERS_H
#define BK_NODE_EVENT_READERS_H

#include <stddef.h>

#include "base/err.h"

struct agent;

/* Programs that get the agent's lines from a socket, one in each packet, such as `buckle node
 * events`. Nothing if no socket was asked for. */
int event_readers_listen(struct agent *a, struct bk_err *err);
void event_readers_send(struct agent *a, const char *line, size_t n);
void event_readers_close(struct agent *a);

#endif
