/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_CONTROL_CLIENT_H
#define BK_CLI_AGENT_CONTROL_CLIENT_H

#include "agent/json.h"
#include "base/buf.h"
#include "base/err.h"

/* Talking to a run or session that is under way (agent/door.h). */

/* A connection to the session of that process. */
int control_client_session(const char *pid, struct bk_err *err);
/* To the run or session that is named. Neither is: to the current session, which is the only one
 * that there is, or the only one of the working directory; a run that belongs to none is one of its
 * own. */
int control_client_current(const char *run, const char *session, struct bk_err *err);
/* A path of the caller's, to be told to somebody who works elsewhere. */
int control_client_absolute(const char *path, struct buf *out, struct bk_err *err);

#endif
