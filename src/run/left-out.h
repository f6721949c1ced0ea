/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LEFT_OUT_H
#define BK_RUN_LEFT_OUT_H

#include "base/buf.h"
#include "report/event.h"

/* Appends which files are missing from a working tree at the end of a run, because git removed them
 * and was then denied making them again, and how to get them. Nothing if there are none. */
void run_left_out(const struct report *r, const struct policies *policies, struct buf *out);

#endif
