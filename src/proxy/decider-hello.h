/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_PROXY_DECIDER_HELLO_H
#define BK_PROXY_DECIDER_HELLO_H

#include "base/buf.h"
#include "base/err.h"

/* Greets a decider that speaks frames (net/decider.h), and appends settings with the hosts of its
 * answer: no names in private networks, as srt has it. */
int decider_hello(int in, int out, struct buf *settings, struct bk_err *err);

#endif
