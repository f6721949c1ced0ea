/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle decide`: shows what would happen to a command that an agent wants to run. */

#include <string.h>

#include "base/own.h"
#include "cli/agent/cli-agent-view.h"

static const struct cli_option options[] = {
    VIEW_OPTIONS,
    {"bypass", 0, NULL, "the agent asked to run outside (dangerouslyDisableSandbox)", NULL},
    {"table", 0, NULL, "print the table of all decisions", NULL},
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

enum { RUNS_OUTSIDE = 3, IS_ASKED = 4, AS_CLIENT_SAYS = 5 };

static const int statuses[] = {
    [DECIDE_SANDBOXED] = CLI_OK, [DECIDE_REFUSE] = CLI_NO,         [DECIDE_OUTSIDE] = RUNS_OUTSIDE,
    [DECIDE_ASK] = IS_ASKED,     [DECIDE_CLIENT] = AS_CLIENT_SAYS,
};

static int print_table(void)
{
    static const struct {
        const char *name;
        enum permission_mode mode;
    } modes[] = {
        {"client", PERMISSION_CLIENT}, {"prompt", PERMISSION_PROMPT}, {"open", PERMISSION_OPEN}};
    OWN(buf) struct buf out = {0};
    buf_str(&out, "| | runs | client | prompt | open | none |\n|---|---|---|---|---|---|\n");
    for (int row = 0; row < DECIDE_ROWS; row++) {
        bool runs = decide_at(row, PERMISSION_OPEN).action != DECIDE_REFUSE;
        bool inside = decide_at(row, PERMISSION_OPEN).sandboxed;
        buf_fmt(&out, "| %s | %s |", decide_row_words(row),
                !runs    ? "–"
                : inside ? "inside"
                         : "outside");
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
            enum decide_action action = decide_at(row, modes[i].mode).action;
            bool unasked = action == DECIDE_SANDBOXED || action == DECIDE_OUTSIDE;
            buf_fmt(&out, " %s |", unasked ? "run" : decide_action_name(action));
        }
        buf_str(&out, " refuse |\n");
    }
    return cli_emit(&out, CLI_OK);
}

static int cmd_decide_run(struct cli_args *args)
{
    OWN(agent_view) struct agent_view v = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    if (args_has(args, "table"))
        return args->npos ? cli_usage(args, "--table takes no command") : print_table();
    if (args->npos > 1)
        return cli_usage(args, "give the command as one quoted argument");
    if (view_from_args(&v, args, &err) < 0)
        return cli_fail(&err);
    struct decide_settings s = view_decides(&v);
    struct decide_request r = {.command = args->npos ? args->pos[0] : NULL,
                               .bypass = args_has(args, "bypass")};
    struct decision d = decide(&s, &r);
    OWN(buf) struct buf reason = {0};
    decide_reason(&d, &reason);
    if (args_has(args, "json")) {
        buf_fmt(&out, "{\"decision\": \"%s\", \"sandboxed\": %s, \"reason\": ",
                decide_action_name(d.action), d.sandboxed ? "true" : "false");
        buf_json(&out, reason.s, reason.n);
        buf_str(&out, "}\n");
    } else {
        buf_fmt(&out, "%s%s: %s\n", decide_action_name(d.action),
                d.action != DECIDE_ASK && d.action != DECIDE_CLIENT ? ""
                : d.sandboxed                                       ? ", then run-sandboxed"
                                                                    : ", then run-outside",
                reason.s ? reason.s : "");
    }
    return cli_emit(&out, statuses[d.action]);
}

const struct cli_command cmd_decide = {
    .name = "decide",
    .usage = "[OPTION…] COMMAND",
    .brief = "show how an agent's command would run: sandboxed, outside or not at all",
    .about =
        "Applies the settings of the working directory to COMMAND, a shell command in one\n"
        "argument. Prints the decision and the reason: run-sandboxed, run-outside, ask (Buckle\n"
        "asks the user), client (the agent's own rules decide whether to ask) or refuse. Runs\n"
        "nothing.\n"
        "\n"
        "Exit status: 0 run-sandboxed, 3 run-outside, 4 ask, 5 client, 1 refuse, 2 error.",
    .options = options,
    .run = cmd_decide_run,
};
