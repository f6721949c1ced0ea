/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROXY_PROXY_GATE_H
#define BK_PROXY_PROXY_GATE_H

#include <sys/types.h>

#include "proxy/proxy-serve.h"

/* One policy and the process of its gate, as the first process knows it. */
struct proxy_gate {
    const struct proxy_policy *policy;
    char *environment; /* NAME=placeholder of its credentials, a line each */
    int to;            /* packets with connections */
    pid_t pid;
};

/* Starts a process that makes the policy and becomes its gate. Appends its authority's certificate
 * to pem, if it has one. */
int proxy_gate_start(struct proxy_gate *g, const struct proxy_options *o,
                     const struct proxy_policy *p, struct buf *pem, struct bk_err *err);

#endif
