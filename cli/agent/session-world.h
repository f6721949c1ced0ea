/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_SESSION_WORLD_H
#define BK_CLI_AGENT_SESSION_WORLD_H

#include <stdbool.h>

#include "base/err.h"

/* The world of a session with --try: what its commands write to, with a checkpoint after each. One
 * for a process. cli/try implements it; macOS has no worlds. */

struct session_world; /* agent/session.h */

/* command: what lists say about the world. on: the world to begin with, or NULL. Returns NULL if
 * there is none. */
const struct session_world *session_world_begin(const char *command, const char *on,
                                                struct bk_err *err);
/* After the session. A world without changes is removed; shows: prints a summary of another one. */
void session_world_end(bool shows);

#endif
