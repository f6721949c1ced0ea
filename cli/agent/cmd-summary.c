/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle summary`: describes the sandbox for a model. */

#include "cli/agent/cli-agent-view.h"

static const struct cli_option options[] = {
    VIEW_OPTIONS,
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

static int cmd_summary_run(struct cli_args *args)
{
    return view_print(args, summary_text, NULL);
}

const struct cli_command cmd_summary = {
    .name = "summary",
    .usage = "[OPTION…]",
    .brief = "describe the sandbox for a language model",
    .about =
        "Describes, for the settings of the working directory, what a model needs to know: what\n"
        "commands may read, write and reach, where temporary files go, what a denial looks like\n"
        "and how to respond to it. Prints nothing if sandboxing is disabled.",
    .options = options,
    .run = cmd_summary_run,
};
