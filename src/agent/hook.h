/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_HOOK_H
#define BK_AGENT_HOOK_H

#include <limits.h>

#include "agent/agent-view.h"
#include "agent/json.h"

/*
 * Messages that agents send before they use a tool, and the answers. They differ in names only:
 * tool, command and folder; then allow, ask or deny, a reason, and a replacement command.
 */
struct hook_call {
    int dialect;         /* index into the table in hook.c */
    bool shell;          /* the tool runs a shell command */
    const char *command; /* that command; NULL if missing */
    const char *cwd;     /* the agent's folder; NULL if not given */
    const char *session; /* the agent's id of the conversation, or NULL */
    const char *agent;   /* the id of the sub-agent that calls, or NULL */
    const char *mode;    /* the user's permission mode, or NULL */
    bool bypass;
    bool vouches;           /* the agent asks the user if the answer says so */
    bool asks;              /* the same, or it might */
    bool keeps_folder;      /* the agent's shell tool promises that `cd` lasts */
    const char *rules_tool; /* the shell tool's name in the agent's rules (client-rules.h), codex,
                               cursor, or NULL */
    const json_t *rules;    /* that came with the command (opencode-rules.c), or NULL */
    const char *ours[2];    /* with either of these programs our command begins */
    const json_t *input;    /* of the tool */
};

/* Parses a message, which must outlive the call. Returns -1 if the format is unknown. tools:
 * further tools that run shell commands. */
int hook_read(const json_t *message, const char *const *tools, size_t ntools,
              struct hook_call *out);

/* The agent's project folder from the environment of its hooks, or NULL. */
const char *hook_project(const struct hook_call *call);

enum hook_effect {
    HOOK_LEAVE, /* as if there were no hook */
    HOOK_ALLOW,
    HOOK_ASK,
    HOOK_DENY,
    HOOK_PASS, /* a replacement, and the agent's own rules decide about it */
};

/* When to ask, by the mode in the message. */
enum permission_mode hook_mode(const struct hook_call *call, bool *planning);

/* The answer in the call's dialect. command: run this instead; NULL: the original. If the dialect
 * can't replace a command, the answer denies it. */
json_t *hook_answer(const struct hook_call *call, enum hook_effect effect, const char *reason,
                    const char *command);

/* The answer to an unreadable message: deny. */
json_t *hook_refusal(const char *reason);

#endif
