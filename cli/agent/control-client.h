/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_CONTROL_CLIENT_H
#define BK_CLI_AGENT_CONTROL_CLIENT_H

#include "agent/json.h"
#include "base/buf.h"
#include "base/err.h"

/* Connects to the control socket of an active run or session (agent/control-socket.h). All
 * functions return -1 on failure. */

/* Returns a connection to the session with this process ID. */
int control_client_session(const char *pid, struct bk_err *err);
/* Returns a connection to the given run or session. If both are NULL: to the only active one, or
 * the only one of the working directory. A run outside any session counts as a session. */
int control_client_current(const char *run, const char *session, struct bk_err *err);
/* Makes a path absolute, for a process with another working directory. */
int control_client_absolute(const char *path, struct buf *out, struct bk_err *err);

#endif
