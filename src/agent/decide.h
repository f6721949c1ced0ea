/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_DECIDE_H
#define BK_AGENT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What becomes of a command that an agent wants to run: a pure function of the settings in force,
 * the person's permission mode and the request. Who carries it out (the hook, the MCP server, an
 * embedding program) adds nothing of its own.
 */

/* How much the person wants to be asked. */
enum permission_mode {
    PERMISSION_PROMPT,
    PERMISSION_OPEN, /* not at all */
    PERMISSION_NONE, /* tools are disabled */
};

/* Inherited by sub-agents as a whole; a request's own wish never is. */
struct decide_settings {
    bool enabled;           /* sandbox.enabled */
    bool auto_allow;        /* autoAllowBashIfSandboxed: no prompt for what runs inside */
    bool allow_unsandboxed; /* allowUnsandboxedCommands; its default is true */
    const char *const *excluded;
    size_t nexcluded;
    enum permission_mode mode;
    bool planning; /* nothing runs */
};

struct decide_request {
    const char *command; /* a shell's; may be NULL */
    bool bypass;         /* dangerouslyDisableSandbox */
    bool other_shell;    /* to be run by a program of the agent's choice: never excluded */
};

enum decide_action { DECIDE_SANDBOXED, DECIDE_ASK, DECIDE_OUTSIDE, DECIDE_REFUSE };

struct decision {
    enum decide_action action;
    bool sandboxed;     /* how it runs, after asking too: an approval never removes the sandbox */
    const char *reason; /* one clause, for people and agents */
};

struct decision decide(const struct decide_settings *s, const struct decide_request *r);
const char *decide_action_name(enum decide_action a); /* "run-sandboxed", "ask"… */

/* ---- excluded commands (exclude.c) ---- */

/* Patterns: `docker ps` is that command, white space around it aside; `docker:*` is docker alone or
 * followed by a space and anything; other patterns may have a * anywhere, for any characters, and
 * \* for a star. Only one simple command can be excluded. */
bool exclude_matches(const char *pattern, const char *command);
/* Whether a shell would run nothing but one program with arguments that are written out: no lists,
 * pipes, redirections, substitutions, variables, functions or settings before it. When in doubt, it
 * is not. */
bool exclude_is_simple(const char *command);

#endif
