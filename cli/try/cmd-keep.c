/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle keep`: puts a world's changes into place. */

#include "base/own.h"
#include "cli/try/world-show.h"
#include "vocab/protected-classes.h"

static const struct cli_option options[] = {
    {"allow-protected", 0, "CLASS,…", "also keep changes of protected names of these classes",
     protected_class_words},
    {0},
};

static int cmd_keep_run(struct cli_args *args)
{
    OWN(world) struct world w = {.fd = -1};
    OWN(changes) struct changes c = {0};
    struct bk_err err;
    unsigned classes;
    if (args->npos == 0)
        return cli_usage(args, "give the world to keep; `buckle changes` lists them");
    if (world_classes(args, &classes, &err) < 0 || world_open(&w, args->pos[0], &err) < 0 ||
        world_changes(&w, &c, &err) < 0)
        return cli_fail(&err);
    return world_keep_these(&w, &c, args->pos + 1, args->npos - 1, classes) ? CLI_OK : CLI_NO;
}

const struct cli_command cmd_keep = {
    .name = "keep",
    .usage = "[OPTION…] ID [PATH…]",
    .brief = "put what a command changed in a world into place",
    .about =
        "Puts the changes of the world ID into place: all of them, or those at and below each\n"
        "PATH. Either all are kept, or nothing changes. What has changed outside since the\n"
        "world began is a conflict: it is named, and never overwritten. A world of which\n"
        "everything was kept is removed.\n"
        "\n"
        "Classes for --allow-protected:\n"
#define PROTECTED_CLASS(id, name, brief) "    " name ": " brief "\n"
#include "vocab/protected-classes.def"
#undef PROTECTED_CLASS
        "\n"
        "Exit status: 0 if they were kept, 1 if not, 2 after an error.",
    .options = options,
    .run = cmd_keep_run,
};
