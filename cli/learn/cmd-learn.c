/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle learn`: runs a command, and writes the smallest profile that lets it work. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/learner.h"
#include "cli/run/run-options.h"
#include "cli/try/world-show.h"

/* clang-format off */
static const struct cli_option options[] = {
    {"base", 0, "FILE|NAME", "the outer bounds: nothing that this profile denies is learned", "file"},
    {"include", 0, "PATH|CLASS", "open this secret store, or protected names of this class, as well", NULL},
    {"to", 0, "FILE", "write the profile to FILE instead of standard output", "file"},
    {"trace", 0, "FILE", "write what was used to FILE, for --add", "file"},
    {"add", 0, "FILE", "add what an earlier run used, from its --trace", "file"},
    {"tight", 0, NULL, "hardly generalise: files rather than folders, exact operations", NULL},
    {"loose", 0, NULL, "generalise more: folders rather than files", NULL},
    {"try", 0, NULL, "discard what the command writes, as `buckle try --discard` does", NULL},
    RUN_OPTIONS,
    {0},
};
/* clang-format on */

enum { FAILED = 125 };

static const struct cli_option *option_named(const char *name)
{
    const struct cli_option *o = options;
    while (o->name && strcmp(o->name, name) != 0)
        o++;
    return o;
}

static bool is_class(const char *word)
{
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        if (strcmp(protected_classes[i].name, word) == 0)
            return true;
    return false;
}

/* The base is the run's profile, and what is included what its flags open. */
static int to_run(struct cli_args *args, const char *base, struct cli_given **made)
{
    struct cli_given *given = calloc(args->ngiven + 1, sizeof(*given));
    if (!given)
        return -1;
    for (size_t i = 0; i < args->ngiven; i++) {
        given[i] = args->given[i];
        const char *name = given[i].option->name;
        if (strcmp(name, "base") == 0)
            given[i].option = option_named("profile");
        else if (strcmp(name, "include") == 0)
            given[i].option =
                option_named(is_class(given[i].value) ? "allow-protected" : "allow-read");
    }
    given[args->ngiven] = (struct cli_given){option_named("profile"), base};
    *made = given;
    args->given = given;
    args->ngiven += !args_has(args, "profile");
    return 0;
}

static int check(const struct cli_args *args)
{
    static const char *const refused[] = {"profile",   "settings",  "preset",  "auto",
                                          "spare",     "dry-run",   "session", "updatable",
                                          "grantable", "control-fd"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (args_has(args, refused[i]))
            return cli_usage(args, "--%s does not go with learning", refused[i]);
    if (args->npos == 0)
        return cli_usage(args, "no command given");
    if (args_has(args, "tight") && args_has(args, "loose"))
        return cli_usage(args, "--tight and --loose exclude each other");
    return CLI_OK;
}

/* In a world that nobody sees. */
static int run_in_world(struct cli_args *args, const struct run_observer *observer)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    char cwd[PATH_MAX];
    bool ran;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(&err, "cannot find the working directory"), cli_fail(&err), FAILED;
    if (world_make(&w, cwd, (char *const *)args->pos, NULL, &err) < 0)
        return cli_fail(&err), FAILED;
    int status = world_run(&w, args, observer, &ran, &err);
    if (world_discard(&w, &err) < 0)
        cli_fail(&err);
    return status;
}

static int cmd_learn_run(struct cli_args *args)
{
    OWN(mem) const char **add = args_all(args, "add");
    OWN(mem) struct cli_given *made = NULL;
    const char *base = args_value(args, "base");
    if (!base)
        base = args_has(args, "try") ? "learn-try" : "learn";
    struct learner l = {.how = args_has(args, "tight")   ? LEARN_TIGHT
                               : args_has(args, "loose") ? LEARN_LOOSE
                                                         : LEARN_USUAL,
                        .to = args_value(args, "to"),
                        .trace_to = args_value(args, "trace"),
                        .add = add,
                        .base = base,
                        .verbose = args_has(args, "verbose")};
    struct bk_err err;
    int status = check(args);
    if (status != CLI_OK)
        return status;
    struct cli_args run = *args;
    if (!add || to_run(&run, base, &made) < 0 || learner_init(&l, &err) < 0)
        return err_nomem(&err), cli_fail(&err);
    status = args_has(args, "try") ? run_in_world(&run, &l.observer)
                                   : run_command_observed(&run, NULL, &l.observer);
    learner_free(&l);
    return status;
}

const struct cli_command cmd_learn = {
    .name = "learn",
    .usage = "[OPTION…] [--] COMMAND [ARGUMENT…]",
    .brief = "run a command, and write the smallest profile that lets it work",
    .about =
        "Runs COMMAND with everything allowed that the base allows, and records which files,\n"
        "programs and hosts it uses. Then writes a profile with rules for these: folders where\n"
        "many files were used, patterns for temporary names, parameters for the home, working\n"
        "and temporary folders. By default the base allows everything except protected names\n"
        "and secret stores.\n"
        "\n"
        "The profile is proved before it is written: it allows every use that was recorded,\n"
        "each of its rules is needed, and it allows nothing that the base denies. A summary on\n"
        "standard error lists what it allows beyond what was used.\n"
        "\n"
        "`buckle run --help` describes the options that both have.\n"
        "\n"
        "Exit status: as of `buckle run`; 125 if no profile could be learned.",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = cmd_learn_run,
};
