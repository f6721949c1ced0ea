/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle wrap`: prints a command line for macOS that runs a command under settings. */

#include "agent/wrap-command.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/profile-name.h"
#include "macos/sandbox-exec.h"

static const struct cli_option options[] = {
    {"settings", 's', "FILE", "these settings, besides those that are found", "file"},
    {"no-settings", 0, NULL, "only those, and the machine's policy", NULL},
    {"bare", 0, NULL, "nothing but what they say: as under the name srt", NULL},
    {"shell", 0, "SHELL", "the shell that runs it, looked up in PATH (bash)", "command"},
    {"http-port", 0, "N", "the port of an HTTP proxy on this machine", NULL},
    {"socks-port", 0, "N", "the port of a SOCKS proxy on this machine", NULL},
    {"session", 0, "TAG", "what the tag of its denials ends in", NULL},
    {"tmpdir", 0, "DIR", "the command's TMPDIR", "dir"},
    {0},
};

/* One argument is a shell's command line; several are its words. */
static void write_command(const struct cli_args *args, struct buf *out)
{
    for (size_t i = 0; i < args->npos; i++) {
        buf_str(out, i ? " " : "");
        if (args->npos == 1)
            buf_str(out, args->pos[i]);
        else
            shell_word(out, args->pos[i]);
    }
}

static int wrap_main(struct cli_args *args)
{
    OWN(settings) struct settings settings = {0};
    OWN(buf) struct buf command = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err = {0};
    struct wrapping w = {.shell = args_value(args, "shell"),
                         .session = args_value(args, "session"),
                         .tmpdir = args_value(args, "tmpdir"),
                         .bare = args_has(args, "bare")};
    if (args->npos == 0)
        return cli_usage(args, "which command?");
    if (profile_port(args, "http-port", &w.ports.http) < 0 ||
        profile_port(args, "socks-port", &w.ports.socks) < 0)
        return cli_usage(args, "a port is a number from 1 to 65535");
    write_command(args, &command);
    w.command = buf_ok(&command) ? command.s : NULL;
    if (!w.command)
        return err_nomem(&err), cli_fail(&err);
    if (profile_settings(args, &settings, &err) < 0 || wrap_settings(&w, &settings, &out, &err) < 0)
        return cli_fail(&err);
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_wrap = {
    .name = "wrap",
    .usage = "[OPTION…] [--] COMMAND…",
    .brief = "print a command line that runs a command under settings on macOS",
    .about =
        "Prints one line for a shell: `env … sandbox-exec -p PROFILE SHELL -c COMMAND`, with the\n"
        "profile for the settings that count here. COMMAND is a shell's command line, or its\n"
        "words. If nothing is restricted, COMMAND is printed as it is. Hosts are reached through\n"
        "proxies at the given ports; --session marks denials for readers of the system's log.\n",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = wrap_main,
};
