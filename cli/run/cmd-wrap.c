/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle wrap`: prints a command line for macOS that runs a command under settings. */

#include "agent/wrap-command.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/settings-options.h"
#include "command/tmpdir.h"
#include "macos/sandbox-exec.h"

static const struct cli_option options[] = {
    {"settings", 's', "FILE", "settings to use in addition to those found", "file"},
    {"no-settings", 0, NULL, "use only --settings and the machine's policy", NULL},
    {"bare", 0, NULL, "add no defaults, as srt does", NULL},
    {"shell", 0, "SHELL", "the shell that runs it, found in PATH (default bash)", "command"},
    {"http-port", 0, "N", "port of an HTTP proxy on this machine", NULL},
    {"socks-port", 0, "N", "port of a SOCKS proxy on this machine", NULL},
    {"session", 0, "TAG", "end the tag of its denials with TAG", NULL},
    {"tmpdir", 0, "DIR", "the command's TMPDIR (default: one that wrapped commands share)", "dir"},
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

static int cmd_wrap_run(struct cli_args *args)
{
    OWN(settings) struct settings settings = {0};
    OWN(buf) struct buf command = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err = {0};
    char tmpdir[64];
    struct wrapping w = {.shell = args_value(args, "shell"),
                         .session = args_value(args, "session"),
                         .tmpdir = args_value(args, "tmpdir"),
                         .bare = args_has(args, "bare")};
    if (args->npos == 0)
        return cli_usage(args, "no command given");
    if (profile_port(args, "http-port", &w.ports.http) < 0 ||
        profile_port(args, "socks-port", &w.ports.socks) < 0)
        return cli_usage(args, "a port must be between 1 and 65535");
    if (!w.tmpdir) {
        if (tmpdir_shared(tmpdir, &err) < 0)
            return cli_fail(&err);
        w.tmpdir = tmpdir;
    }
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
    .brief = "print a command line that sandboxes a command on macOS",
    .about = "Prints one shell line, `env … sandbox-exec -p PROFILE SHELL -c COMMAND`, with the\n"
             "profile that the settings in force here produce. COMMAND is a shell command, in one\n"
             "word or several. If nothing is restricted, prints COMMAND unchanged. The command\n"
             "reaches hosts through the proxies at the given ports; --session tags its denials in\n"
             "the system log.",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = cmd_wrap_run,
};
