/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_CLI_AGENT_VIEW_H
#define BK_CLI_AGENT_CLI_AGENT_VIEW_H

#include "agent/agent-view.h"
#include "cli/args.h"

/* Options of the commands that act for an agent, for their tables. */
/* clang-format off */
#define VIEW_OPTIONS \
    {"settings", 0, "FILE", "settings to use in addition to those found", "file"}, \
    {"mode", 0, "MODE", "who approves commands: client (default), prompt, open or none", "client prompt open none"}, \
    {"plan", 0, NULL, "plan mode: no command runs", NULL}, \
    {"plan-file", 0, "FILE", "in plan mode: the only file the agent may write", "file"}
/* clang-format on */

/* Reads the settings of the working directory according to these options. */
int view_from_args(struct agent_view *v, const struct cli_args *args, struct bk_err *err);
/* The shell that runs an agent's commands: --shell, bash if it is installed, else sh. */
const char *view_shell(const struct cli_args *args);

/* Implements a command that takes these options and --json, and prints what is in force. add: adds
 * to the JSON object, or NULL. */
int view_print(const struct cli_args *args,
               void (*print)(const struct agent_view *v, struct buf *out),
               void (*add)(struct buf *out));

#endif
