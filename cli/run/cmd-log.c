/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle log`: denials of the running session. The session keeps them in memory only. */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/args.h"
#include "cli/pager.h"
#include "cli/run/log-ask.h"

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "keep printing new events until the session ends, and answer questions",
     NULL},
    {"grep", 'g', "TEXT", "print only lines that contain TEXT", NULL},
    {"group", 'G', NULL, "print each operation and path once, with a count", NULL},
    {"json", 'j', NULL, "print JSON, one object per line", NULL},
    {"no-ask", 0, NULL, "with --follow: answer no questions about protected names", NULL},
    {"run", 0, "PID", "process ID of the `buckle run`, if there are several", NULL},
    {"session", 0, "PID", "process ID of the `buckle session` or `buckle mcp`", NULL},
    {0},
};

struct log {
    const struct cli_args *args;
    struct buf out;
    json_t *groups;     /* "operation path" → times, in order of arrival; NULL: not grouped */
    struct buf command; /* of a single run; a session's events have their own */
    pid_t session;      /* its process, or 0 */
};

/* ---- one event ---- */

static const char *member(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

/* Local time; the day as well, unless it is today. */
static void add_time(const char *utc, struct buf *out)
{
    struct tm tm = {0}, today;
    time_t now = time(NULL);
    char text[32];
    const char *rest = strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm);
    time_t then = rest ? timegm(&tm) : 0;
    if (!rest || !localtime_r(&then, &tm) || !localtime_r(&now, &today))
        return;
    bool same = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
    strftime(text, sizeof(text), same ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
    buf_str(out, text);
}

/* The start of a command line. */
static void add_command(const char *command, struct buf *out)
{
    enum { SHOWN = 40 };
    size_t n = strcspn(command, "\n");
    bool cut = n > SHOWN || command[n];
    n = n > SHOWN ? SHOWN : n;
    while (n > 0 && ((unsigned char)command[n] & 0xc0) == 0x80)
        n--; /* not inside a character */
    buf_safe(out, command, n);
    buf_str(out, cut ? "…" : "");
}

/* "09:12:33  npm ci  node(42) deny(1) file-write-create /x  user settings, line 3: denied there" */
static void describe(const struct log *l, const json_t *event, struct buf *out)
{
    const char *command = member(event, "command"), *message = member(event, "message");
    const char *place = member(json_object_get(event, "rule"), "place");
    const char *detail = member(event, "detail");
    add_time(member(event, "time"), out);
    buf_str(out, "  ");
    add_command(*command || !l->command.s ? command : l->command.s, out);
    buf_fmt(out, "  %s", member(event, "line")); /* the run has escaped it for terminals */
    if (*place || *message)
        buf_str(out, "  ");
    buf_safe(out, place, strlen(place));
    buf_str(out, *place && *message ? ": " : "");
    buf_safe(out, message, strlen(message));
    buf_str(out, *detail ? " (" : "");
    buf_safe(out, detail, strlen(detail));
    buf_str(out, *detail ? ")" : "");
}

static void show(struct log *l, const json_t *event)
{
    OWN(buf) struct buf text = {0};
    const char *line = json_string_value(json_object_get(event, "line"));
    const char *wanted = args_value(l->args, "grep"), *words = line ? strstr(line, ") ") : NULL;
    describe(l, event, &text);
    if (!words || !buf_ok(&text) || (wanted && !strstr(text.s, wanted)))
        return;
    if (l->groups) {
        json_t *times = json_object_get(l->groups, words + 2);
        json_int_t count = json_integer_value(json_object_get(event, "count"));
        json_object_set_new(l->groups, words + 2,
                            json_integer(json_integer_value(times) + (count ? count : 1)));
    } else if (args_has(l->args, "json")) {
        OWN(mem) char *dumped = json_dumps(event, JSON_COMPACT);
        buf_json_text(&l->out, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
        buf_chr(&l->out, '\n');
    } else {
        buf_fmt(&l->out, "%s\n", text.s);
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
            show(l, json_array_get(events, i));
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
    if (l->groups)
        show_groups(l);
    return args_has(l->args, "json") ? cli_emit(&l->out, CLI_OK) : pager_emit(&l->out, CLI_OK);
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
    int status = print_log(&l, control);
    buf_free(&l.out);
    buf_free(&l.command);
    return status;
}

const struct cli_command cmd_log = {
    .name = "log",
    .usage = "[OPTION…]",
    .brief = "show what the current session denied",
    .about =
        "Prints what the current session (an agent's, or a single run) denied and granted: at\n"
        "most the last hundred events, each with its time, command, and the rule behind it.\n"
        "On a terminal a pager shows them (BUCKLE_PAGER, PAGER or less). Nothing is kept on\n"
        "disk; the log ends with the session.\n"
        "\n"
        "With --follow at a terminal you are asked about protected names that the session's\n"
        "commands want to change (see `buckle run --ask`). A command waits up to a minute.\n"
        "\n"
        "Exit status: 0 on success, 2 if there is no such session.",
    .options = options,
    .run = cmd_log_run,
};
