/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Finds the command, parses its arguments by its table and runs it. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/compat/compat.h"
#include "cli/help.h"
#include "cli/remedy-words.h"
#include "cli/version.h"
#include "system/process.h"

#ifdef __linux__
#define LINUX_COMMAND(name, why) COMMAND(name)
#else
#define LINUX_COMMAND(name, why)
#endif

#define COMMAND(name) extern const struct cli_command cmd_##name;
#include "cli/commands.def"
#undef COMMAND

const struct cli_command *const cli_commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

#undef LINUX_COMMAND
#define LINUX_COMMAND(name, why) {#name, why},
#define COMMAND(name)
const struct cli_absence cli_linux_commands[] = {
#include "cli/commands.def"
    {NULL, NULL},
};

static int run_command(const struct cli_command *command, int argc, char **argv)
{
    struct cli_args args;
    struct bk_err err;
    int status;
    if (args_parse(&args, command, argc, argv, &err) < 0) {
        status = cli_fail(&err);
    } else if (args.help) {
        OWN(buf) struct buf out = {0};
        help_command(command, &out);
        status = cli_emit(&out, CLI_OK);
    } else {
        status = command->run(&args);
    }
    args_free(&args);
    return status;
}

/* Property lists are read by a library, which a static program cannot load. So the same program is
 * installed once more, for these: with libraries. */
static void use_libraries(char **argv)
{
    char path[PATH_MAX];
    bool needed = strcmp(argv[1], "entitlements") == 0;
    for (char **word = argv; *word && strcmp(*word, "--") != 0; word++)
        needed |= strncmp(*word, "--entitlements", 14) == 0;
    bool here = needed && !process_can_load() && process_own_path(path) == 0;
    char *slash = here ? strrchr(path, '/') : NULL;
    size_t room = slash ? (size_t)(path + sizeof(path) - slash) : 0;
    if (slash && (size_t)snprintf(slash, room, "/../libexec/buckle/buckle-shared") < room)
        execv(path, argv); /* where it is missing, JSON can still be read */
}

/* The command that a link's name runs, or NULL. */
static const struct cli_command *find_link(const char *argv0)
{
    const char *slash = strrchr(argv0, '/'), *base = slash ? slash + 1 : argv0;
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        for (const char *const *link = (*c)->links; link && *link; link++)
            if (strcmp(*link, base) == 0)
                return *c;
    return NULL;
}

int main(int argc, char **argv)
{
    OWN(buf) struct buf out = {0};
    const struct cli_command *name = argc ? compat_find(argv[0]) : NULL;
    const struct cli_command *linked = argc ? find_link(argv[0]) : NULL;
    cli_word_remedies(name != NULL);
    if (name || linked)
        return (name ? name : linked)->main(argc, argv);
    if (argc < 2) {
        help_program(&out);
        fputs(out.s ? out.s : "", stderr);
        return CLI_ERROR;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        bool json = argc > 2 && strcmp(argv[2], "--json") == 0;
        (json ? version_json : version_text)(&out);
        return cli_emit(&out, CLI_OK);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_program(&out);
        return cli_emit(&out, CLI_OK);
    }
    name = strchr(argv[1], '/') ? NULL : compat_find(argv[1]);
    if (name) {
        cli_word_remedies(true);
        return name->main(argc - 1, argv + 1);
    }
    const struct cli_command *command = find_command(argv[1]);
    use_libraries(argv);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}
