/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle help [COMMAND]`: prints the same texts as --help. */

#include "base/own.h"
#include "cli/args.h"
#include "cli/help.h"

static int cmd_help_run(struct cli_args *args)
{
    if (args->npos > 1)
        return cli_usage(args, "give at most one command");
    OWN(buf) struct buf out = {0};
    if (!args->npos) {
        help_program(&out);
        return cli_emit(&out, CLI_OK);
    }
    const struct cli_command *command = find_command(args->pos[0]);
    if (!command)
        return unknown_command(args->pos[0]);
    help_command(command, &out);
    return cli_emit(&out, CLI_OK);
}

static const struct cli_option options[] = {{0}};

const struct cli_command cmd_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .brief = "show help for Buckle or for one command",
    .about = "Prints the same as `buckle COMMAND --help`. Without COMMAND, lists the commands.",
    .options = options,
    .complete = "command",
    .run = cmd_help_run,
};
