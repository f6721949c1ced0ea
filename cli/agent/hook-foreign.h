/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_HOOK_FOREIGN_H
#define BK_CLI_AGENT_HOOK_FOREIGN_H

#include <stdbool.h>

#include "agent/json.h"

/*
 * Agents whose messages or answers differ from the dialects in more than names: their messages
 * become ones that the dialects know, and the answers become theirs.
 */
enum foreign_kind {
    FOREIGN_NONE,
    FOREIGN_STATUS, /* only the exit status counts (--by-status) */
    FOREIGN_CODEX,  /* no "ask", and a new command only with "allow" */
    FOREIGN_CURSOR, /* preToolUse: flat keys, no "ask", always a decision */
    FOREIGN_QWEN,   /* Claude Code's format, but it runs the original command */
};

struct foreign {
    enum foreign_kind kind;
    json_t *input; /* of Cursor's tool; kept until the program ends */
    bool other;    /* a tool that runs no commands */
};

/* Consumes a message and returns one for hook_read(), or NULL if it is none. */
json_t *foreign_message(struct foreign *f, json_t *message, bool by_status);
/* Whether the agent may ask its user if the answer says so. */
bool foreign_asks(const struct foreign *f);
/* Consumes an answer and returns the agent's, with its exit status; NULL: print nothing. */
json_t *foreign_answer(const struct foreign *f, json_t *answer, int *status);

#endif
