/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle summary`: what a model should be told about the sandbox. */

#include "agent-view.h"
#include "base/own.h"

static const struct cli_option options[] = {
    VIEW_OPTIONS,
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

static int run(struct cli_args *args)
{
    OWN(agent_view) struct agent_view v = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "summary takes options only");
    if (view_from_args(&v, args, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        summary_json(&v, &out);
        buf_chr(&out, '\n');
    } else {
        summary_text(&v, &out);
    }
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_summary = {
    .name = "summary",
    .usage = "[OPTION…]",
    .brief = "print what a model should be told about the sandbox",
    .about =
        "Prints, for the settings of the working directory, what a model needs to know: what may\n"
        "be read, written and reached, where temporary files go, how a refusal looks and what\n"
        "to do about it. Nothing when sandboxing is disabled.",
    .options = options,
    .run = run,
};
