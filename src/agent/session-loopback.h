/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_LOOPBACK_H
#define BK_AGENT_SESSION_LOOPBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/json.h"
#include "system/fd-watch.h"

/*
 * The session's end of the links of its runs (net/session-link.h): knows which run has a server at
 * which port, tells all others, and passes connections on. It reads none of them.
 */
enum { LOOPBACK_PORTS = 65536 };

struct session_loopback {
    struct fd_watch *fds;
    int *links; /* of the runs; -1: free */
    size_t nlinks;
    int *owners; /* by port: the link of the run that listens there, or -1; NULL before the first */
};

void session_loopback_init(struct session_loopback *b, struct fd_watch *fds);
/* Takes the link over. Returns 0, or -1 without memory. */
int session_loopback_add(struct session_loopback *b, int link);
void session_loopback_free(struct session_loopback *b);
/* The ports at which a run listens, as numbers. */
json_t *session_loopback_ports(const struct session_loopback *b, int link);

#endif
