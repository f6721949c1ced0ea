/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_DECIDE_H
#define BK_AGENT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "settings/access.h"

/*
 * Decides what happens to an agent's command: a pure function of the settings, the user's
 * permission mode and the request. The callers (the hook, the MCP server, an embedding program)
 * only carry it out.
 */

/* When to ask the user. */
enum permission_mode {
    PERMISSION_PROMPT,
    PERMISSION_OPEN,   /* never, except about a bypass */
    PERMISSION_NONE,   /* refuse everything */
    PERMISSION_CLIENT, /* as the agent's own rules say, except about a bypass */
};

/* Sub-agents inherit these as a whole, but never a request's own flags. */
struct decide_settings {
    bool enabled;           /* sandbox.enabled */
    bool auto_allow;        /* autoAllowBashIfSandboxed: don't ask about sandboxed commands */
    bool allow_unsandboxed; /* allowUnsandboxedCommands */
    const char *const *excluded;
    size_t nexcluded;
    enum permission_mode mode;
    bool planning;               /* run nothing */
    const struct access *access; /* with the rules about commands; NULL: none */
};

struct decide_request {
    const char *command; /* for a shell; may be NULL */
    bool bypass;         /* dangerouslyDisableSandbox */
    bool other_shell;    /* the agent chose the shell, so no exclusion applies */
};

enum decide_action {
    DECIDE_SANDBOXED,
    DECIDE_ASK,
    DECIDE_OUTSIDE,
    DECIDE_REFUSE,
    DECIDE_CLIENT, /* the agent's own rules decide whether to ask */
};

/* The rows of decisions.def. */
enum decide_row {
#define DECISION(when, words, where, client, prompt, open, reason) DECIDE_ROW_##when,
#include "agent/decisions.def"
    DECIDE_ROWS,
};

struct decision {
    enum decide_action action;
    enum decide_row row;
    bool sandboxed;     /* how it runs, even after asking: an approval never removes the sandbox */
    const char *reason; /* one clause, for users and agents */
    const struct command_rule *rule; /* about commands, that decided; or NULL */
};
/* The reason with the rule's own and its place: "the settings deny this command (user settings,
 * line 3): use npm". */
void decide_reason(const struct decision *d, struct buf *out);

struct decision decide(const struct decide_settings *s, const struct decide_request *r);
const char *decide_action_name(enum decide_action a); /* "run-sandboxed", "ask"… */
/* What a row does in a mode other than none. */
struct decision decide_at(enum decide_row row, enum permission_mode mode);
/* When the row applies, in words. */
const char *decide_row_words(enum decide_row row);

/* ---- excluded commands (exclude.c) ---- */

/* Matches a pattern: `docker ps` is that command, apart from white space around it; `docker:*` is
 * docker alone or followed by a space and anything. Other patterns may contain * for any characters
 * and \* for a star. Only a simple command matches. */
bool exclude_matches(const char *pattern, const char *command);
/* The same for a text that may be no simple command. */
bool exclude_fits(const char *pattern, const char *text, size_t len);
/* Whether a shell would run exactly one program with literal arguments: no lists, pipes,
 * redirections, substitutions, variables, functions or assignments. False in doubt. */
bool exclude_is_simple(const char *command);

#endif
