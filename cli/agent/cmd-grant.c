/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle grant`: gives an active run more access, until it ends. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/agent/control-client.h"
#include "cli/args.h"
#include "run/grant.h"
#include "vocab/protected-classes.h"
#include "vocab/rule-words.h"

static const struct cli_option options[] = {
    {"read", 'r', "PATH", "let it read PATH and below, or what a glob matches", "file"},
    {"write", 'w', "PATH", "let it write to PATH and below, or to what a glob matches", "file"},
    {"net", 'N', "HOST[:PORT]", "let it connect to HOST", NULL},
    {"protected", 0, "CLASS,…", "do not protect names of these classes; see `buckle run --help`",
     protected_class_words},
    {"command", 0, "PATTERN", "do not ask about commands of this pattern of the setting commands",
     NULL},
    {"for", 0, "SECONDS", "take it back after so long (default: when the command ends)", NULL},
    {"run", 0, "PID", "process ID of the `buckle run`, if there are several", NULL},
    {"session", 0, "PID", "process ID of the `buckle session` or `buckle mcp`", NULL},
    {0},
};

static int send_grant(int control, const char *option, const char *given, uint64_t seconds,
                      bool *waits, struct bk_err *err)
{
    OWN(json) json_t *message = json_object();
    OWN(buf) struct buf path = {0};
    char name[24];
    snprintf(name, sizeof(name), "allow-%s", option);
    const struct rule_word *word = rule_word_find(name);
    if (word && word->takes == RULE_VALUE_PATH && control_client_absolute(given, &path, err) < 0)
        return -1;
    json_object_set_new(message, "grant", json_string(name));
    json_object_set_new(message, "what", json_string(path.n ? path.s : given));
    if (seconds)
        json_object_set_new(message, "seconds", json_integer((json_int_t)seconds));
    OWN(json) json_t *answer = control_server_ask(control, message, CONTROL_LONG_MS, err);
    if (!answer)
        return -1;
    const char *later = json_string_value(json_object_get(answer, "waits"));
    if (later && *later) {
        fprintf(stderr, "buckle: part of this takes effect only with the next command:\n%s", later);
        fprintf(stderr,
                "buckle: `buckle run --grantable` skips the kernel walls that prevent it\n");
        *waits = true;
    }
    return 0;
}

static int cmd_grant_run(struct cli_args *args)
{
    static const char *const kinds[] = {"read", "write", "net", "protected", "command"};
    const size_t nkinds = sizeof(kinds) / sizeof(kinds[0]);
    struct bk_err err;
    bool waits = false;
    size_t n = 0;
    uint64_t seconds = 0;
    const char *given = args_value(args, "for");
    if (given && (!args_number(given, GRANTS_SECONDS, &seconds) || !seconds))
        return cli_usage(args, "--for must be between 1 and 86400");
    if (args->npos)
        return cli_usage(args, "grant takes options only");
    for (size_t k = 0; k < nkinds; k++)
        n += args_count(args, kinds[k]);
    if (n == 0)
        return cli_usage(args,
                         "nothing to grant: give --read, --write, --net, --protected or --command");
    OWN(fd)
    int control =
        control_client_current(args_value(args, "run"), args_value(args, "session"), &err);
    if (control < 0)
        return cli_fail(&err);
    for (size_t k = 0; k < nkinds; k++)
        for (size_t i = 0; i < args_count(args, kinds[k]); i++)
            if (send_grant(control, kinds[k], args_nth(args, kinds[k], i), seconds, &waits, &err) <
                0)
                return cli_fail(&err);
    return waits ? CLI_NO : CLI_OK;
}

const struct cli_command cmd_grant = {
    .name = "grant",
    .usage = "[--read PATH] [--write PATH] [--net HOST] [--protected CLASS] [--command PATTERN] "
             "[--run PID]",
    .brief = "let a running command do more, until it ends",
    .about =
        "Lets a command that runs under `buckle run` read, write or reach something more. The\n"
        "grant applies to the command's next operation, appears in its report, and ends with\n"
        "the command, or with --for after so many seconds. Nothing inside a sandbox can grant\n"
        "anything.\n"
        "\n"
        "Exit status: 0 if everything was granted, 1 if part of it takes effect only with the\n"
        "next command (a kernel wall prevents it; see `buckle run --grantable`), 2 on error.",
    .options = options,
    .run = cmd_grant_run,
};
