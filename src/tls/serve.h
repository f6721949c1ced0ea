/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SERVE_H
#define BK_TLS_SERVE_H

#include "net/tls-call.h"

/* Answers calls (net/tls-call.h) until the socket closes. Returns 0, or -1 for a call that makes no
 * sense. */
int tls_serve(int sock, struct tls_areas *areas);

#endif
