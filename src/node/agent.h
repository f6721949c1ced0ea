/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_AGENT_H
#define BK_NODE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "node/keep.h"

/*
 * The node agent. OCI runtimes connect to its socket and send the listeners of their containers;
 * each gets a judge, in a process of its own, under the profile that the runtime names. Events go
 * to standard output, a JSON object in each line.
 */
struct node_options {
    const char *socket;
    const char *profiles; /* a folder */
    bool gate;            /* containers whose profile names hosts get a gate */
    bool audit;           /* denials are reported, and allowed */
    const char *metrics;  /* ADDRESS:PORT for HTTP, or NULL */
    const char *events;   /* a socket for programs that read events, or NULL */
    uint64_t sample;      /* lines about operations in a second and container; 0: all */
    enum keep_where keep; /* where descriptors outlive the agent */
    unsigned wait;        /* seconds for a successor, in a holder of our own */
};

/* Serves until SIGTERM or SIGINT. Containers go on, and so do their judges, as long as something
 * keeps their descriptors. Returns 0 or -1. */
int node_serve(const struct node_options *o, struct bk_err *err);

#endif
