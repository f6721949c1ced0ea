/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_ROOT_H
#define BK_CLI_AGENT_HOOK_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/hook.h"

/*
 * The project an agent works in, which its commands can write to. It is the directory in which the
 * agent was started; the model cannot change it, neither by `cd` nor in a tool's input.
 */
struct hook_root {
    char path[PATH_MAX]; /* canonical */
    pid_t session;       /* the agent's session; 0 if it was not needed */
};

/* tries: a session that it starts has a world. Returns 0 or -1. */
int hook_root(const struct hook_call *call, const char *program, bool tries, struct hook_root *out,
              struct bk_err *err);

/* The agent's session, started now if there is none; tries: with a world. Returns 0 if that fails;
 * commands run without a session, too. */
pid_t hook_session(const char *program, bool tries);

/* The grants of a session; NULL if there are none. The caller frees them. */
json_t *hook_grants(pid_t session);

#endif
