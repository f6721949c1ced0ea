/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROXY_PROXY_GATE_H
#define BK_PROXY_PROXY_GATE_H

#include "base/arena.h"
#include "policy/assemble.h"
#include "proxy/proxy-serve.h"
#include "run/run.h"

/* One policy and the process of its gate. */
struct proxy_gate {
    const struct proxy_policy *policy;
    struct assembly assembly;
    struct named_settings settings;
    struct run_spec spec;
    struct run run;
    const char *set[32]; /* NAME=placeholder of its credentials */
    size_t nset;
    int to; /* packets with connections */
    pid_t pid;
};

/* Makes the policy. */
int proxy_gate_open(struct proxy_gate *g, const struct proxy_options *o,
                    const struct proxy_policy *p, struct bk_err *err);
/* Starts its gate, and appends its authority's certificate to pem, if it has one. */
int proxy_gate_start(struct proxy_gate *g, const struct proxy_options *o, struct buf *pem,
                     struct bk_err *err);

#endif
