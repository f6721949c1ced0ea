/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The process that keeps a session also keeps its world, and makes a checkpoint when a command has
 * ended. A checkpoint that cannot be made (a full disk) is left out; the world goes on.
 */

#include "cli/agent/session-world.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/session.h"
#include "cli/args.h"
#include "cli/try/world-show.h"
#include "world/checkpoints.h"

static struct world world = {.fd = -1};

static void on_ended(void *arg, const char *command)
{
    struct bk_err err;
    (void)arg;
    if (checkpoint_make(&world, command, &err) < 0)
        cli_fail(&err);
}

const struct session_world *session_world_begin(const char *command, const char *on,
                                                struct bk_err *err)
{
    static struct session_world told = {.ended = on_ended};
    char cwd[PATH_MAX];
    char *const words[] = {(char *)command, NULL};
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory"), NULL;
    if (world_make(&world, cwd, words, on, err) < 0)
        return NULL;
    told.folder = world.folder;
    return &told;
}

void session_world_end(bool shows)
{
    struct bk_err err;
    if (world.fd >= 0 && world_leave(&world, shows, &err) < 0)
        cli_fail(&err);
    world_close(&world);
}
