/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle annotate`: adds what a session denied to a command's error output, for agents. */

#include <stdlib.h>
#include <string.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/agent/filter.h"
#include "report/annotate.h"

static const struct cli_option options[] = {
    {"session", 0, "PID", "process ID of the `buckle session` or `buckle mcp`", NULL},
    {"run", 0, "PID", "process ID of a `buckle run`", NULL},
    {"command", 0, "TEXT", "only denials of commands with this text", NULL},
    {0},
};

/* A page of the log may not have all of it. */
static json_t *read_page(int control, json_int_t after, struct bk_err *err)
{
    OWN(json) json_t *question = json_pack("{s:b, s:I}", "log", 1, "after", after);
    return control_server_ask(control, question, CONTROL_USUAL_MS, err);
}

static bool is_wanted(const json_t *event, const char *command)
{
    const char *verdict = json_text(event, "verdict"), *of = json_text(event, "command");
    return json_text(event, "line") && verdict && strcmp(verdict, "deny") == 0 &&
           (!command || (of && strcmp(of, command) == 0));
}

/* Returns how many there were in all, or -1. */
static json_int_t add_lines(int control, const char *command, json_t *lines, struct bk_err *err)
{
    json_int_t after = 0, last = -1, total = 0;
    while (after != last) {
        OWN(json) json_t *page = read_page(control, after, err);
        const json_t *events = json_object_get(page, "events");
        if (!page)
            return -1;
        for (size_t i = 0; i < json_array_size(events); i++) {
            const json_t *event = json_array_get(events, i);
            if (is_wanted(event, command))
                json_array_append(lines, json_object_get(event, "line"));
        }
        total = json_integer_value(json_object_get(page, "total"));
        last = after;
        after = json_integer_value(json_object_get(page, "last"));
    }
    return command ? (json_int_t)json_array_size(lines) : total;
}

static int cmd_annotate_run(struct cli_args *args)
{
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf out = {0};
    OWN(json) json_t *lines = json_array();
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "annotate reads standard input only");
    OWN(fd)
    int control =
        control_client_current(args_value(args, "run"), args_value(args, "session"), &err);
    bool read = control >= 0 && filter_read(&text, &err) == 0;
    json_int_t total = read ? add_lines(control, args_value(args, "command"), lines, &err) : -1;
    if (total < 0)
        return cli_fail(&err);
    size_t n = json_array_size(lines);
    OWN(mem) struct violations *v = calloc(1, sizeof(*v) + n * sizeof(v->at[0]));
    for (size_t i = 0; v && i < n; i++)
        v->at[v->n++].line = json_string_value(json_array_get(lines, i));
    annotate(text.s ? text.s : "", text.n, v, (uint64_t)total, &out);
    if (n)
        buf_chr(&out, '\n');
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_annotate = {
    .name = "annotate",
    .usage = "[OPTION…] < TEXT",
    .brief = "add a session's denials to a command's error output",
    .about =
        "Copies standard input to standard output and adds a <sandbox_violations> block with what\n"
        "the current session (an agent's, or a single run) denied. Blocks that the text already\n"
        "contains lose their brackets. `buckle run --annotate` does this for its own command.",
    .options = options,
    .run = cmd_annotate_run,
};
