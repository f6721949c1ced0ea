/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle discard`: removes worlds. */

#include "base/own.h"
#include "cli/try/world-show.h"
#include "world/checkpoints.h"

static const struct cli_option options[] = {
    {"after", 0, "N", "discard only what came after checkpoint N of one world", NULL},
    {0},
};

static int discard_one(const char *id)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    return world_open(&w, id, &err) < 0 || world_must_be_top(&w, &err) < 0 ||
                   world_discard(&w, &err) < 0
               ? cli_fail(&err)
               : CLI_OK;
}

static int go_back(const struct cli_args *args)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    unsigned number;
    return world_number(args, "after", &number, &err) < 0 ||
                   world_open(&w, args->pos[0], &err) < 0 || checkpoint_back(&w, number, &err) < 0
               ? cli_fail(&err)
               : CLI_OK;
}

static int cmd_discard_run(struct cli_args *args)
{
    int status = CLI_OK;
    if (args->npos == 0)
        return cli_usage(args, "give the world to discard; `buckle changes` lists them");
    if (args_has(args, "after"))
        return args->npos > 1 ? cli_usage(args, "--after takes one world") : go_back(args);
    for (size_t i = 0; i < args->npos; i++)
        if (discard_one(args->pos[i]) != CLI_OK)
            status = CLI_ERROR;
    return status;
}

const struct cli_command cmd_discard = {
    .name = "discard",
    .usage = "[--after N] ID…",
    .brief = "remove a world with everything that a command changed there",
    .about = "Removes the worlds with these IDs. Nothing outside changes.\n"
             "\n"
             "With --after, a session's world becomes what it was after checkpoint N; 0 is the\n"
             "beginning. `buckle changes --checkpoints ID` lists them.",
    .options = options,
    .run = cmd_discard_run,
};
