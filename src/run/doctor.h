/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_DOCTOR_H
#define BK_RUN_DOCTOR_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* What this host can enforce, and how to fix the rest, as text or as one JSON object. *full:
 * whether the default profile can be enforced in full. */
int doctor_report(bool json, bool *full, struct buf *out, struct bk_err *err);
/* Whether this host has the minimum that any run needs. */
bool doctor_can_run(void);

#endif
