/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle mcp`: flags for the server in agent/mcp.c. */

#include "agent/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/agent/cli-agent-view.h"

static const struct cli_option options[] = {
    {"settings", 0, "FILE", "settings besides those that are found", "file"},
    {"mode", 0, "MODE", "the person's permission mode: prompt, open or none", "prompt open none"},
    {"plan", 0, NULL, "a plan is being made: nothing runs", NULL},
    {"grantable", 0, NULL, "let `buckle grant` give commands more while they run", NULL},
    {"here", 0, NULL, "run commands even in / or the home directory", NULL},
    {"shell", 0, "PROGRAM", "the shell, when a call names none (bash, or sh)", "file"},
    {"timeout", 't', "SECONDS", "limit of commands that name none (120)", NULL},
    {"max-timeout", 0, "SECONDS", "limit of commands that name one (600)", NULL},
    {"max-procs", 0, "N", "limit of a command's processes (4096)", NULL},
    {"max-output", 0, "BYTES", "what is kept of each of a command's streams (30000)", NULL},
    {0},
};

static int number(const struct cli_args *args, const char *option, unsigned long most,
                  unsigned long *out, struct bk_err *err)
{
    const char *given = args_value(args, option);
    char *end;
    if (!given)
        return 0;
    unsigned long n = strtoul(given, &end, 10);
    if (given[0] < '0' || given[0] > '9' || *end || n == 0 || n > most)
        return err_set(err, BK_E_INPUT, "--%s: %s is not a number from 1 to %lu", option, given,
                       most);
    *out = n;
    return 0;
}

static int read_limits(const struct cli_args *args, struct mcp_options *o, struct bk_err *err)
{
    unsigned long timeout = 120, most = 600, output = 30000, procs = 4096;
    if (number(args, "timeout", 86400, &timeout, err) < 0 ||
        number(args, "max-timeout", 86400, &most, err) < 0 ||
        number(args, "max-procs", 1 << 20, &procs, err) < 0 ||
        number(args, "max-output", 16 << 20, &output, err) < 0)
        return -1;
    o->max_timeout_ms = (uint32_t)most * 1000;
    o->timeout_ms = (uint32_t)(timeout < most ? timeout : most) * 1000;
    o->max_procs = (uint32_t)procs;
    o->max_output = output;
    return 0;
}

static int run(struct cli_args *args)
{
    struct mcp_options o = {.program = "/proc/self/exe",
                            .shell = view_shell(args),
                            .grantable = args_has(args, "grantable"),
                            .here = args_has(args, "here"),
                            .nsettings = args_count(args, "settings")};
    struct bk_err err;
    const char *mode = args_value(args, "mode");
    OWN(mem) const char **files = args_all(args, "settings");
    if (args->npos)
        return cli_usage(args, "mcp takes options only");
    if (mode && !view_mode(mode, &o.mode, &o.planning))
        return cli_usage(args, "--mode: %s is none of prompt, open, none", mode);
    if (!files)
        return CLI_ERROR;
    o.planning |= args_has(args, "plan");
    o.settings = files;
    if (read_limits(args, &o, &err) < 0 || mcp_serve(&o, STDIN_FILENO, STDOUT_FILENO, &err) < 0)
        return cli_fail(&err);
    return CLI_OK;
}

const struct cli_command cmd_mcp = {
    .name = "mcp",
    .usage = "[OPTION…]",
    .brief = "serve a sandboxed shell to an agent, over the Model Context Protocol",
    .about =
        "Speaks the Model Context Protocol on standard input and output. Its tools are a shell "
        "whose\n"
        "commands run under the settings of the working directory (bash, bash_output, bash_kill)\n"
        "and what the sandbox has to say (sandbox_status, sandbox_violations); the policy and the\n"
        "events of the session can be read as resources. Everything ends with the client.\n",
    .options = options,
    .run = run,
};
