/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_REACH_H
#define BK_CLI_REACH_H

#include "agent/json.h"
#include "base/buf.h"
#include "base/err.h"

/* Talking to a run or session that is under way (agent/door.h). */

/* A connection to the run of that process; NULL: to the only one. */
int reach_run(const char *pid, struct bk_err *err);
/* The same for a session. */
int reach_session(const char *pid, struct bk_err *err);
/* Of a session when there is one, else of a run; either may be named. */
int reach_either(const char *run, const char *session, struct bk_err *err);
/* NULL when it fails or the answer is a refusal. */
json_t *reach_ask(int door, const json_t *message, struct bk_err *err);
/* A path of the caller's, to be told to somebody who works elsewhere. */
int reach_absolute(const char *path, struct buf *out, struct bk_err *err);

#endif
