/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle discard`: removes worlds. */

#include "base/own.h"
#include "cli/try/world-show.h"

static const struct cli_option options[] = {{0}};

static int discard_one(const char *id)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    return world_open(&w, id, &err) < 0 || world_discard(&w, &err) < 0 ? cli_fail(&err) : CLI_OK;
}

static int cmd_discard_run(struct cli_args *args)
{
    int status = CLI_OK;
    if (args->npos == 0)
        return cli_usage(args, "give the world to discard; `buckle changes` lists them");
    for (size_t i = 0; i < args->npos; i++)
        if (discard_one(args->pos[i]) != CLI_OK)
            status = CLI_ERROR;
    return status;
}

const struct cli_command cmd_discard = {
    .name = "discard",
    .usage = "ID…",
    .brief = "remove a world with everything that a command changed there",
    .about = "Removes the worlds with these IDs. Nothing outside changes.",
    .options = options,
    .run = cmd_discard_run,
};
