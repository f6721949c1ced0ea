/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle doctor`: what this host can enforce (run/doctor.h), as text. */

#include "base/own.h"
#include "cli/args.h"
#include "run/doctor.h"

static const struct cli_option options[] = {
    {"json", 'j', NULL, "print one JSON object", NULL},
    {0},
};

static int cmd_doctor_run(struct cli_args *args)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    bool full;
    if (args->npos)
        return cli_usage(args, "doctor takes no arguments");
    if (doctor_report(args_has(args, "json"), &full, &out, &err) < 0)
        return cli_fail(&err);
    return cli_emit(&out, full ? CLI_OK : CLI_NO);
}

const struct cli_command cmd_doctor = {
    .name = "doctor",
    .usage = "[OPTION…]",
    .brief = "show what this host can enforce, and how to fix the rest",
    .about =
        "Tries each kernel feature that `buckle run` relies on, in child processes. Shows which\n"
        "work, what the others need, and what this host can enforce as it is.\n"
        "\n"
        "Exit status: 0 if the default profile can be enforced in full, 1 if not, 2 on error.",
    .options = options,
    .run = cmd_doctor_run,
};
