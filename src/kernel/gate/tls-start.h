/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_GATE_TLS_START_H
#define BK_KERNEL_GATE_TLS_START_H

#include "base/buf.h"
#include "graph/graph.h"
#include "net/tls-end.h"

/* Starts buckle-tls for a policy that checks requests, and appends its authority's certificate as
 * PEM. Otherwise it returns NULL, and why says what is missing. */
struct handling;
struct tls_helper *tls_start(const struct graph *g, const struct handling *with, struct buf *pem,
                             const char **why);

#endif
