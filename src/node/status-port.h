/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_STATUS_PORT_H
#define BK_NODE_STATUS_PORT_H

#include "base/err.h"

struct agent;

/* The agent's HTTP port, for GET /metrics, /healthz and /readyz. Nothing if it was not asked for.
 */
int status_listen(struct agent *a, struct bk_err *err);
/* Ends connections that are too slow. Returns milliseconds until the next one is, or -1. */
int status_expire(struct agent *a);

#endif
