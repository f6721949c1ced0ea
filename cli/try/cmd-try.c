/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle try`: runs a command whose changes stay in a world until the user has looked at them. */

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/run-options.h"
#include "cli/try/world-show.h"

/* clang-format off */
static const struct cli_option options[] = {
    {"keep-on-success", 0, NULL, "keep all changes if the command exits with status 0", NULL},
    {"discard", 0, NULL, "show what has changed, and discard it", NULL},
    {"review", 0, "WHEN", "now: ask on a terminal (the default); later: leave the world as it is", "now later"},
    {"real", 0, "PATH", "PATH is no part of the world: what the policy lets the command write there is real", "file"},
    {"world", 0, "ID", "run the command in this world, with the changes that are there", NULL},
    {"on", 0, "ID", "begin with what is in the world ID; keeping then changes that world", NULL},
    RUN_OPTIONS,
    {0},
};
/* clang-format on */

enum { FAILED = 125 };

static int check(const struct cli_args *args)
{
    const char *review = args_value(args, "review");
    if (args->npos == 0)
        return cli_usage(args, "no command given");
    if (args_has(args, "keep-on-success") && args_has(args, "discard"))
        return cli_usage(args, "--keep-on-success and --discard exclude each other");
    if (args_has(args, "world") && args_has(args, "on"))
        return cli_usage(args, "--world and --on exclude each other");
    if (review && strcmp(review, "now") != 0 && strcmp(review, "later") != 0)
        return cli_usage(args, "--review must be now or later, not %s", review);
    return CLI_OK;
}

static int cmd_try_run(struct cli_args *args)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    char cwd[PATH_MAX];
    bool ran;
    const char *id = args_value(args, "world");
    if (args_has(args, "dry-run"))
        return run_command(args, "/");
    int status = check(args);
    if (status != CLI_OK)
        return status;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(&err, "cannot find the working directory"), cli_fail(&err), FAILED;
    int made = id ? world_open(&w, id, &err)
                  : world_make(&w, cwd, (char *const *)args->pos, args_value(args, "on"), &err);
    if (made < 0)
        return cli_fail(&err), FAILED;
    status = world_run(&w, args, NULL, &ran, &err);
    if (!ran) { /* it has told why; nothing is in the world */
        if (!id)
            world_discard(&w, &err);
        return status;
    }
    return world_review(&w, args, status);
}

const struct cli_command cmd_try = {
    .name = "try",
    .usage = "[OPTION…] [--] COMMAND [ARGUMENT…]",
    .brief = "run a command, look at what it changed, then keep it or not",
    .about =
        "Runs COMMAND in a sandbox, as `buckle run` does. What it writes stays in a world of its\n"
        "own: a layer over each folder that it may write. Nothing outside changes. Afterwards a\n"
        "summary shows what was added, changed and removed. On a terminal you decide whether to\n"
        "keep it; else `buckle keep` and `buckle discard` do.\n"
        "\n"
        "Writes that are denied outside the world are listed only with --report or -v. Everything\n"
        "is judged then, which takes longer.\n"
        "\n"
        "`buckle run --help` describes the options that both have.\n"
        "\n"
        "Exit status: as of `buckle run`; 125 if --keep-on-success could not keep the changes.",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = cmd_try_run,
};
