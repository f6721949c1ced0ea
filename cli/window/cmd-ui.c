/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle ui` and `buckle top`: execute buckle-window, which has the page and the terminal view. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "system/helper-program.h"
#include "system/process.h"

static const struct cli_option ui_options[] = {
    {"port", 0, "N", "the port of 127.0.0.1 to listen on (default: any free one)", NULL},
    {"idle", 0, "SECONDS", "end so long after the last page was closed (default 600, 0: never)",
     NULL},
    {"no-open", 0, NULL, "print the address, and start no browser", NULL},
    {0},
};
static const struct cli_option no_options[] = {{0}};

static int execute(char **argv)
{
    struct bk_err err;
    OWN(fd) int program = helper_program_open("buckle-window");
    if (program >= 0)
        helper_program_execute(program, argv);
    err_set(&err, BK_E_INPUT, "libexec/buckle/buckle-window is missing, or does not start");
    err_hint(&err, "it comes with Buckle if libevent and ncurses are there when Buckle is built");
    return cli_fail(&err);
}

static int run_ui(struct cli_args *args)
{
    const char *port = args_value(args, "port"), *idle = args_value(args, "idle");
    char own[PATH_MAX];
    uint64_t number;
    port = port ? port : "0";
    idle = idle ? idle : "600";
    if (args->npos)
        return cli_usage(args, "ui takes options only");
    if (!args_number(port, 65535, &number))
        return cli_usage(args, "--port must be between 0 and 65535");
    if (!args_number(idle, INT_MAX, &number))
        return cli_usage(args, "--idle must be a number of seconds");
    if (process_own_path(own) < 0)
        return CLI_ERROR;
    char *argv[] = {(char[]){"buckle-window"},
                    (char[]){"ui"},
                    own,
                    (char *)port,
                    (char *)idle,
                    args_has(args, "no-open") ? (char[]){"print"} : (char[]){"open"},
                    NULL};
    return execute(argv);
}

static int run_top(struct cli_args *args)
{
    char own[PATH_MAX];
    if (args->npos)
        return cli_usage(args, "top takes no arguments");
    if (process_own_path(own) < 0)
        return CLI_ERROR;
    char *argv[] = {(char[]){"buckle-window"}, (char[]){"top"}, own, NULL};
    return execute(argv);
}

const struct cli_command cmd_ui = {
    .name = "ui",
    .usage = "[OPTION…]",
    .brief = "open a page with what runs, what was denied, and the settings",
    .about =
        "Serves a page on 127.0.0.1, prints its address, and opens it in a browser if there is\n"
        "a display. The code in the address works once; then the browser has a cookie. No other\n"
        "user and nothing inside a sandbox can use the page.\n"
        "\n"
        "The page shows runs and sessions, denials as they happen with buttons to allow or deny\n"
        "them, questions of `buckle run --ask`, the settings in force, the record of past runs,\n"
        "the difference between two profiles, and what this host can enforce.",
    .options = ui_options,
    .run = run_ui,
};

const struct cli_command cmd_top = {
    .name = "top",
    .usage = "",
    .brief = "show in the terminal what runs and what is denied",
    .about =
        "Shows runs and sessions, the denials of all of them as they happen, and how many there\n"
        "are per second. Keys: the arrows choose a denial, a allows it for the run or session, A\n"
        "for good, d denies it for good, e explains it, / filters, p pauses, q ends. Questions of\n"
        "`buckle run --ask` are answered here, too. Set NO_COLOR for a view without colours.",
    .options = no_options,
    .run = run_top,
};
