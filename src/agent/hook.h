/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_HOOK_H
#define BK_AGENT_HOOK_H

#include <limits.h>

#include "agent/agent-view.h"
#include "agent/json.h"

/*
 * What agents send before they use a tool, and what they want to hear. They differ in names, not in
 * matter: which tool, which command, where; allow, ask or deny, a reason, and another command in
 * its place.
 */
struct hook_call {
    int dialect;         /* an index into a table of hook.c */
    bool shell;          /* the tool runs a command */
    const char *command; /* then; NULL when it is missing */
    const char *cwd;     /* where the agent says it is; NULL: it does not */
    const char *session; /* the agent's name for the conversation, or NULL */
    const char *mode;    /* the person's, or NULL */
    bool bypass;
    const json_t *input; /* the tool's */
};

/* What a message says. -1 when it is none that is known. It must outlive the call. tools: names of
 * tools that run commands, besides those that the agents known here have. */
int hook_read(const json_t *message, const char *const *tools, size_t ntools,
              struct hook_call *out);

/* The project that the agent was started in, as it says itself in the environment of its hooks;
 * NULL when it does not. */
const char *hook_project(const struct hook_call *call);

enum hook_effect { HOOK_LEAVE, HOOK_ALLOW, HOOK_ASK, HOOK_DENY };

/* The answer in the call's dialect. command: what is to run in place of the call's; NULL: that.
 * Where a dialect has no place for another command, what needs one is denied. */
json_t *hook_answer(const struct hook_call *call, enum hook_effect effect, const char *reason,
                    const char *command);

/* The same to a message that could not be read: nothing runs. */
json_t *hook_refusal(const char *reason);

#endif
