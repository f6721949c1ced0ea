/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle mcp`: command line of the server in agent/mcp.c. */

#include "agent/mcp.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/agent/cli-agent-view.h"
#include "cli/agent/session-world.h"
#include "system/process.h"

static const struct cli_option options[] = {
    {"settings", 0, "FILE", "settings to use in addition to those found", "file"},
    {"mode", 0, "MODE", "who approves commands: client (default), prompt, open or none",
     "client prompt open none"},
    {"try", 0, NULL, "let commands write to a world of the session (see `buckle try`)", NULL},
    {"on", 0, "ID", "with --try: begin with what is in the world ID", NULL},
    {"plan", 0, NULL, "plan mode: no command runs", NULL},
    {"grantable", 0, NULL, "skip kernel walls, so that `buckle grant` can allow anything", NULL},
    {"here", 0, NULL, "run commands even in / or the home directory", NULL},
    {"shell", 0, "PROGRAM", "the shell, if a call names none (default: bash, else sh)", "file"},
    {"timeout", 't', "SECONDS", "time limit of commands that set none (default 120)", NULL},
    {"max-timeout", 0, "SECONDS", "highest time limit that a command can set (default 600)", NULL},
    {"max-procs", 0, "N", "maximum number of processes per command (default 4096)", NULL},
    {"no-spare", 0, NULL, "keep no sandbox ready for the next command", NULL},
    {"max-output", 0, "BYTES", "how much to keep of each output stream (default 30000)", NULL},
    {0},
};

static int read_number(const struct cli_args *args, const char *option, unsigned long most,
                       unsigned long *out, struct bk_err *err)
{
    const char *given = args_value(args, option);
    char *end;
    if (!given)
        return 0;
    unsigned long n = strtoul(given, &end, 10);
    if (given[0] < '0' || given[0] > '9' || *end || n == 0 || n > most)
        return err_set(err, BK_E_INPUT, "--%s must be between 1 and %lu, not %s", option, most,
                       given);
    *out = n;
    return 0;
}

static int read_limits(const struct cli_args *args, struct mcp_options *o, struct bk_err *err)
{
    unsigned long timeout = 120, most = 600, output = 30000, procs = 4096;
    if (read_number(args, "timeout", 86400, &timeout, err) < 0 ||
        read_number(args, "max-timeout", 86400, &most, err) < 0 ||
        read_number(args, "max-procs", 1 << 20, &procs, err) < 0 ||
        read_number(args, "max-output", 16 << 20, &output, err) < 0)
        return -1;
    o->max_timeout_ms = (uint32_t)most * 1000;
    o->timeout_ms = (uint32_t)(timeout < most ? timeout : most) * 1000;
    o->max_procs = (uint32_t)procs;
    o->max_output = output;
    return 0;
}

static int cmd_mcp_run(struct cli_args *args)
{
    char self[PATH_MAX];
    struct mcp_options o = {.program = process_own_program(self),
                            .shell = view_shell(args),
                            .mode = PERMISSION_CLIENT,
                            .grantable = args_has(args, "grantable"),
                            .here = args_has(args, "here"),
                            .no_spare = args_has(args, "no-spare"),
                            .nsettings = args_count(args, "settings")};
    struct bk_err err;
    const char *mode = args_value(args, "mode");
    OWN(mem) const char **files = args_all(args, "settings");
    if (args->npos)
        return cli_usage(args, "mcp takes options only");
    if (mode && !view_mode(mode, &o.mode, &o.planning))
        return cli_usage(args, "--mode must be client, prompt, open or none, not %s", mode);
    if (args_has(args, "on") && !args_has(args, "try"))
        return cli_usage(args, "--on needs --try");
    if (!files)
        return CLI_ERROR;
    o.planning |= args_has(args, "plan");
    o.settings = files;
    if (read_limits(args, &o, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "try") &&
        !(o.world = session_world_begin("buckle mcp", args_value(args, "on"), &err)))
        return cli_fail(&err);
    int served = mcp_serve(&o, STDIN_FILENO, STDOUT_FILENO, &err);
    session_world_end(true);
    return served < 0 ? cli_fail(&err) : CLI_OK;
}

const struct cli_command cmd_mcp = {
    .name = "mcp",
    .usage = "[OPTION…]",
    .brief = "serve a sandboxed shell to an agent over the Model Context Protocol",
    .about =
        "Speaks the Model Context Protocol on standard input and output. The tools bash,\n"
        "bash_output and bash_kill run commands under the settings of the working directory;\n"
        "sandbox_status and sandbox_violations report on the sandbox. The session's policy and\n"
        "events are available as resources. Everything ends when the client disconnects.\n"
        "\n"
        "With --try nothing that the commands write in the sandbox changes real files. All of "
        "them\n"
        "see the same world, and a checkpoint of it is made after each. At the end `buckle keep`\n"
        "puts it into place, or `buckle discard` removes it.",
    .options = options,
    .run = cmd_mcp_run,
};
