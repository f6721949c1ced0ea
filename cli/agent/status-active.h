/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_STATUS_ACTIVE_H
#define BK_CLI_AGENT_STATUS_ACTIVE_H

#include "agent/json.h"
#include "base/buf.h"

/* The user's runs and sessions, as `buckle status` shows them:
 *
 *   [{"kind": "run" | "session", "pid": N, "cwd": …, "command": TEXT, "denied": N,
 *     "last": [{event}…], "questions": [{"question": {…}, "number": N}…]}…]
 *
 * Runs of a session count there. The caller owns it. */
json_t *status_active(void);
void status_active_text(const json_t *active, struct buf *out);

#endif
