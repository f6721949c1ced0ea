/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle log`: denials of the running session, which keeps them in memory only, and the record of
 * past runs, if there is one.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/args.h"
#include "cli/pager.h"
#include "cli/run/log-ask.h"
#include "cli/run/log-past.h"
#include "cli/run/log-print.h"
#include "vocab/protected-classes.h"

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "keep printing new events until the session ends, and answer questions",
     NULL},
    {"from", 0, "PATH", "print this record of past runs (`buckle run --record`)", "file"},
    {"past", 'p', NULL, "print the record of past runs that settings name", NULL},
    LOG_FILTER_OPTIONS,
    {"grep", 'g', "TEXT", "print only lines that contain TEXT", NULL},
    {"group", 'G', NULL, "print each operation and path once, with a count", NULL},
    {"by", 0, "WHAT", "print each of these once, with a count: operation, path, host, …",
     LOG_GROUPS},
    {"json", 'j', NULL, "print JSON, one object per line", NULL},
    {"sarif", 0, NULL, "print denials as SARIF 2.1.0, for CI", NULL},
    {"expect", 0, "HASH", "with verify: fail unless a record has this hash", NULL},
    {"no-ask", 0, NULL, "with --follow: answer no questions about protected names", NULL},
    {"run", 0, "PID", "process ID of the `buckle run`, if there are several", NULL},
    {"session", 0, "PID", "process ID of the `buckle session` or `buckle mcp`", NULL},
    {0},
};

/* Of a session's many events only the last are kept. */
static void show_left_out(struct log *l, json_int_t n)
{
    OWN(buf) struct buf text = {0};
    if (n <= 0)
        return;
    buf_fmt(&text, "%lld earlier event%s left out: only the last are kept\n", (long long)n,
            n == 1 ? " is" : "s are");
    if (args_has(l->args, "json"))
        fputs(text.s ? text.s : "", stderr);
    else
        buf_str(&l->out, text.s ? text.s : "");
}

/* Prints all events after *last. Returns how many, or -1. */
static int fetch(struct log *l, int control, json_int_t *last, struct bk_err *err)
{
    int n = 0;
    for (;;) {
        OWN(json) json_t *question = json_pack("{s:b, s:I}", "log", 1, "after", *last);
        OWN(json) json_t *answer = control_server_ask(control, question, CONTROL_USUAL_MS, err);
        if (!answer)
            return -1;
        const json_t *events = json_object_get(answer, "events");
        if (*last == 0 && n == 0)
            show_left_out(l, json_integer_value(json_object_get(answer, "oldest")) - 1);
        for (size_t i = 0; i < json_array_size(events); i++, n++)
            log_show(l, json_array_get(events, i));
        *last = json_integer_value(json_object_get(answer, "last"));
        if (json_array_size(events) == 0 ||
            *last >= json_integer_value(json_object_get(answer, "total")))
            return n;
    }
}

static int follow(struct log *l, int control, json_int_t last)
{
    enum { PAUSE_MS = 100 };
    static struct log_ask ask; /* large */
    struct bk_err err;
    bool asks = l->session && !args_has(l->args, "no-ask") && !args_has(l->args, "json");
    log_ask_begin(&ask, asks ? l->session : 0, control);
    while (fetch(l, control, &last, &err) >= 0) { /* until the run ends */
        if (fwrite(l->out.s ? l->out.s : "", 1, l->out.n, stdout) != l->out.n || fflush(stdout))
            return CLI_ERROR;
        buf_free(&l->out);
        log_ask_wait(&ask, PAUSE_MS);
    }
    log_ask_end(&ask);
    return CLI_OK;
}

/* A single run has one command; its events don't name it. */
static void find_command(struct log *l, int control)
{
    struct bk_err err;
    OWN(json) json_t *question = json_pack("{s:b}", "about", 1);
    OWN(json) json_t *answer = control_server_ask(control, question, CONTROL_USUAL_MS, &err);
    const json_t *words = json_object_get(answer, "command");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        buf_fmt(&l->command, "%s%s", i ? " " : "", word ? word : "");
    }
    if (!json_object_get(answer, "member")) /* runs have it */
        l->session = (pid_t)json_integer_value(json_object_get(answer, "pid"));
}

static int print_log(struct log *l, int control)
{
    struct bk_err err;
    json_int_t last = 0;
    find_command(l, control);
    if (args_has(l->args, "follow"))
        return follow(l, control, last);
    if (fetch(l, control, &last, &err) < 0)
        return cli_fail(&err);
    log_finish(l);
    return args_has(l->args, "json") ? cli_emit(&l->out, CLI_OK) : pager_emit(&l->out, CLI_OK);
}

static int print_session(struct log *l)
{
    struct bk_err err;
    OWN(fd)
    int control =
        control_client_current(args_value(l->args, "run"), args_value(l->args, "session"), &err);
    return control < 0 ? cli_fail(&err) : print_log(l, control);
}

static int cmd_log_run(struct cli_args *args)
{
    struct bk_err err;
    const char *from = args_value(args, "from");
    bool past = from || args_has(args, "past");
    bool verify = args->npos && strcmp(args->pos[0], "verify") == 0;
    if (verify && args->npos <= 2)
        return log_verify(args, args->npos == 2 ? args->pos[1] : from);
    if (args->npos)
        return cli_usage(args, "log takes options, or `verify` and a path");
    if (args_has(args, "expect"))
        return cli_usage(args, "--expect is for `buckle log verify`");
    bool whole = args_has(args, "group") || args_has(args, "by") || args_has(args, "sarif");
    if (args_has(args, "follow") && (whole || past))
        return cli_usage(args, "--follow excludes --group, --by, --sarif, --from and --past");
    struct log l = {0};
    int status = log_begin(&l, args, &err) < 0 ? cli_fail(&err)
                 : past                        ? log_past(&l, from)
                                               : print_session(&l);
    log_end(&l);
    return status;
}

const struct cli_command cmd_log = {
    .name = "log",
    .usage = "[OPTION…] [verify [PATH]]",
    .brief = "show what was denied, now or in past runs",
    .about =
        "Prints what the current session (an agent's, or a single run) denied and granted: at\n"
        "most the last hundred events, each with its time, command, and the rule behind it.\n"
        "On a terminal a pager shows them (BUCKLE_PAGER, PAGER or less). These are not kept on\n"
        "disk.\n"
        "\n"
        "With --from or --past, prints the record of past runs that `buckle run --record` or the\n"
        "setting record.path keeps. `buckle log verify` checks that no line of it was changed,\n"
        "removed or inserted.\n"
        "\n"
        "With --follow at a terminal you are asked about protected names that the session's\n"
        "commands want to change (see `buckle run --ask`). A command waits up to a minute.\n"
        "\n"
        "Exit status: 0 on success, 1 if the record is not sound, 2 if there is no such session\n"
        "or record.",
    .options = options,
    .run = cmd_log_run,
};
