/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle log`: denials of the running session. The session keeps them in memory only. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/args.h"

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "keep printing new events until the session ends", NULL},
    {"grep", 'g', "TEXT", "print only lines that contain TEXT", NULL},
    {"group", 'G', NULL, "print each operation and path once, with a count", NULL},
    {"json", 'j', NULL, "print JSON, one object per line", NULL},
    {"run", 0, "PID", "process ID of the `buckle run`, if there are several", NULL},
    {"session", 0, "PID", "process ID of the `buckle session` or `buckle mcp`", NULL},
    {0},
};

struct log {
    const struct cli_args *args;
    struct buf out;
    json_t *groups; /* "operation path" → times, in order of arrival; NULL: not grouped */
};

static void show(struct log *l, const json_t *event)
{
    const char *line = json_string_value(json_object_get(event, "line"));
    const char *wanted = args_value(l->args, "grep"), *words = line ? strstr(line, ") ") : NULL;
    if (!words || (wanted && !strstr(line, wanted)))
        return;
    if (l->groups) {
        json_t *times = json_object_get(l->groups, words + 2);
        json_int_t count = json_integer_value(json_object_get(event, "count"));
        json_object_set_new(l->groups, words + 2,
                            json_integer(json_integer_value(times) + (count ? count : 1)));
    } else if (args_has(l->args, "json")) {
        OWN(mem) char *text = json_dumps(event, JSON_COMPACT);
        buf_json_text(&l->out, text ? text : "", text ? strlen(text) : 0);
        buf_chr(&l->out, '\n');
    } else {
        buf_fmt(&l->out, "%s\n", line); /* the run has escaped it for terminals */
    }
}

static void show_groups(struct log *l)
{
    const char *what;
    json_t *times;
    json_object_foreach(l->groups, what, times)
    {
        if (args_has(l->args, "json")) {
            buf_str(&l->out, "{\"what\": ");
            buf_json(&l->out, what, strlen(what));
            buf_fmt(&l->out, ", \"count\": %lld}\n", (long long)json_integer_value(times));
        } else {
            buf_fmt(&l->out, "%6lld× %s\n", (long long)json_integer_value(times), what);
        }
    }
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
        for (size_t i = 0; i < json_array_size(events); i++, n++)
            show(l, json_array_get(events, i));
        *last = json_integer_value(json_object_get(answer, "last"));
        if (json_array_size(events) == 0 ||
            *last >= json_integer_value(json_object_get(answer, "total")))
            return n;
    }
}

static int follow(struct log *l, int control, json_int_t last)
{
    enum { PAUSE_US = 100000 };
    struct bk_err err;
    while (fetch(l, control, &last, &err) >= 0) { /* until the run ends */
        if (fwrite(l->out.s ? l->out.s : "", 1, l->out.n, stdout) != l->out.n || fflush(stdout))
            return CLI_ERROR;
        buf_free(&l->out);
        usleep(PAUSE_US);
    }
    return CLI_OK;
}

static int cmd_log_run(struct cli_args *args)
{
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "log takes options only");
    if (args_has(args, "follow") && args_has(args, "group"))
        return cli_usage(args, "--follow and --group exclude each other");
    OWN(fd)
    int control =
        control_client_current(args_value(args, "run"), args_value(args, "session"), &err);
    if (control < 0)
        return cli_fail(&err);
    OWN(json) json_t *groups = args_has(args, "group") ? json_object() : NULL;
    struct log l = {.args = args, .groups = groups};
    json_int_t last = 0;
    if (args_has(args, "follow"))
        return follow(&l, control, last);
    if (fetch(&l, control, &last, &err) < 0)
        return buf_free(&l.out), cli_fail(&err);
    if (groups)
        show_groups(&l);
    return cli_emit(&l.out, CLI_OK);
}

const struct cli_command cmd_log = {
    .name = "log",
    .usage = "[OPTION…]",
    .brief = "show what the current session denied",
    .about =
        "Prints what the current session (an agent's, or a single run) denied and granted: at\n"
        "most the last hundred events. Nothing is kept on disk; the log ends with the\n"
        "session.\n"
        "\n"
        "Exit status: 0 on success, 2 if there is no such session.",
    .options = options,
    .run = cmd_log_run,
};
