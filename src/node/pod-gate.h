/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_POD_GATE_H
#define BK_NODE_POD_GATE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "graph/graph.h"

/* The number of a process's network namespace; 0: it is gone, or the namespace is our own. */
uint64_t pod_gate_network(pid_t pid);

/* Leads all traffic of a process's network namespace to a gate, in a process of its own outside.
 * Denials go to `events`; the gate ends when nobody holds that socket's other end. Call it in a
 * process with one thread; returns when the routes are in force. */
int pod_gate_start(const struct graph *g, pid_t pid, int events, struct bk_err *err);

#endif
