/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_ROOT_H
#define BK_CLI_AGENT_HOOK_ROOT_H

#include <limits.h>
#include <sys/types.h>

#include "agent/hook.h"

/*
 * The project an agent works in, whose folder its commands can write. It is the one in which the
 * agent was started: what the model chooses, by `cd` or in a tool's input, never moves it.
 */
struct hook_root {
    char path[PATH_MAX]; /* canonical */
    pid_t session;       /* kept for the agent; 0: none was needed */
};

int hook_root(const struct hook_call *call, const char *program, struct hook_root *out,
              struct bk_err *err);

/* The session that is kept for the agent; started now when there is none. 0: there is none to be
 * had, which keeps nothing from running. */
pid_t hook_session(const char *program);

#endif
