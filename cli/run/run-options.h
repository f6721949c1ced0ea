/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_OPTIONS_H
#define BK_CLI_RUN_RUN_OPTIONS_H

#include "cli/cmd.h"
#include "cli/run/record-flags.h"
#include "cli/run/run-presets.h"
#include "vocab/protected-classes.h"

/* The options of `buckle run`, for all commands that run another one. */

extern const char run_cap_words[], run_socket_words[];
extern const struct cli_option run_options[]; /* those of `buckle run` itself */

/* clang-format off */
#define RUN_OPTIONS \
    {"profile", 0, "FILE|NAME", "use this profile; with (trace …) in a file, write rules for what it denies", "file"}, \
    {"settings", 's', "FILE", "settings to use in addition to those found", "file"}, \
    PRESET_OPTIONS, \
    AUTO_OPTIONS, \
    {"no-settings", 0, NULL, "ignore the settings of the user and of the project", NULL}, \
    {"control-fd", 0, "N", "read new settings from descriptor N, one JSON object per line", NULL}, \
    {"define", 'D', "KEY=VALUE", "set a parameter, for (param \"KEY\")", NULL}, \
    {"entitlements", 0, "FILE", "the program's entitlements: a property list, JSON, Mach-O or app", "file"}, \
    {"extension", 0, "CLASS[=PATH]", "the program holds an extension, for PATH and below; may repeat", NULL}, \
    {"platform", 0, "PROFILE", "a platform profile that must also allow it; may repeat", "file"}, \
    {"allow-write", 'w', "PATH", "allow writing to PATH and below, or to what a glob matches", "file"}, \
    {"deny-write", 0, "PATH", "deny writing to PATH and below, or to what a glob matches", "file"}, \
    {"allow-command", 0, "PATTERN", "do not ask about commands of this pattern of the setting commands", NULL}, \
    {"allow-protected", 0, "CLASS,…", "do not protect names of these classes, which are listed above", protected_class_words}, \
    {"allow-read", 'r', "PATH", "allow reading PATH and below, or what a glob matches", "file"}, \
    {"deny-read", 0, "PATH", "deny reading the contents of PATH and below, or of what a glob matches", "file"}, \
    {"allow-net", 'N', "HOST[:PORT]", "allow connections to HOST: a name, *.name, an address or a range", \
     NULL}, \
    {"deny-net", 0, "HOST[:PORT]", "deny connections to HOST, even if --allow-net allows them", NULL}, \
    {"allow-request", 0, "REQUEST", "allow requests to a host, not the whole host: \"GET,HEAD HOST/PATH\", \"read-only HOST\"", \
     NULL}, \
    {"deny-request", 0, "REQUEST", "deny requests, even if --allow-request or --allow-net allows them", NULL}, \
    {"ssh", 0, "KEY -> USER@HOST", "let a key of ssh-agent sign logins to HOST, and nothing else", NULL}, \
    {"credential", 0, "NAME -> HOST", "use a secret in requests to HOST; inside, the variable NAME has a placeholder", NULL}, \
    {"publish", 0, "PORT", "let this machine connect to the command's server on loopback PORT", NULL}, \
    {"ask", 0, NULL, "ask on the terminal about hosts that no rule names, and about protected names", NULL}, \
    {"ask-timeout", 0, "SECONDS", "seconds to wait for an answer before denying (default 60)", NULL}, \
    {"allow-socket", 0, "PATH|NAME", "allow connections to a Unix socket; NAMEs are listed above", \
     run_socket_words}, \
    {"upstream", 0, "URL", "connect through this proxy: http://HOST:PORT or socks5://HOST:PORT", NULL}, \
    {"cd", 0, "DIR", "start the command in DIR; the policy is for the current directory", "dir"}, \
    {"root", 0, "DIR", "the policy and settings are for DIR; start the command here", "dir"}, \
    {"tmpdir", 0, "DIR", "use DIR as TMPDIR, and keep it afterwards", "dir"}, \
    {"shared-tmp", 0, NULL, "no private layer over /tmp: the command can read it, but not write there", NULL}, \
    {"here", 0, NULL, "run even in / or the home directory", NULL}, \
    {"dry-run", 'n', NULL, "show how the policy would be enforced, and exit", NULL}, \
    {"report", 0, "HOW", "how to report denied operations: text, json, none or fd:N", "text json none"}, \
    RECORD_OPTIONS, \
    {"learn-denied", 0, "FILE", "write the smallest rules that would have allowed what was denied", "file"}, \
    {"json", 0, NULL, "with --dry-run: print the plan as JSON", NULL}, \
    {"verbose", 'v', NULL, "report each denied operation as it happens", NULL}, \
    {"title", 0, NULL, "count denied operations in the terminal's title while the command runs", NULL}, \
    {"debug", 0, NULL, "show the restrictions and their sources before starting", NULL}, \
    {"env", 'e', "NAME", "keep this variable even though its name looks like a secret", NULL}, \
    {"keep-fd", 0, "N", "let the command inherit file descriptor N", NULL}, \
    {"timeout", 't', "SECONDS", "end the command after this time (exit status 124)", NULL}, \
    {"max-procs", 0, "N", "limit processes: whole sandbox with a control group, else this user", NULL}, \
    {"max-memory", 0, "SIZE", "limit memory (2G): whole sandbox with a control group, else each process", NULL}, \
    {"wait", 0, NULL, "wait for background processes before exiting", NULL}, \
    {"core-dumps", 0, NULL, "allow core dumps, written to TMPDIR where possible", NULL}, \
    {"strict-reads", 0, NULL, "judge reads where a sentry would do: exact at all times, but slow", NULL}, \
    {"updatable", 0, NULL, "judge everything, so that all of the policy can change while it runs", NULL}, \
    {"annotate", 0, NULL, "report denials in a block for agents instead of the summary", NULL}, \
    {"command-text", 0, "TEXT", "the command line that the session shows", NULL}, \
    {"session", 0, "PID|fd:N", "report events to this session", NULL}, \
    {"session-world", 0, NULL, "fail unless the session has a world to write to", NULL}, \
    {"ask-session", 0, NULL, "let the session's user answer what --ask would ask", NULL}, \
    {"leave-background", 0, NULL, "let background processes go on until the session ends", NULL}, \
    {"folder-of", 0, "ID", "start where the agent's last command ended, and note where this one ends", NULL}, \
    {"spare", 0, "session|fd:N", "prepare the sandbox, and wait for the command there", NULL}, \
    {"late-names", 0, NULL, "resolve denied host names, but refuse connections to them", NULL}, \
    {"watch-net", 0, NULL, "report denied hosts by name, even if no host is allowed", NULL}, \
    {"grantable", 0, NULL, "skip kernel walls, so that anything can be granted later", NULL}, \
    {"accept-weaker", 0, NULL, "run even if this host cannot enforce part of the policy", NULL}, \
    {"cap", 0, "NAME", "as root: let the command keep this capability", run_cap_words}, \
    {"allow-userns", 0, NULL, "let the command create user namespaces", NULL}, \
    {"allow-perf", 0, NULL, "let the command measure its own processes with perf", NULL}
/* clang-format on */

/* Runs the command of a parsed command line that has these options. world: the folder of a world
 * that it writes to (world/world.h), or NULL. May exit as the command did. */
int run_command(struct cli_args *args, const char *world);
/* The same for somebody who watches it (invocation.h); observer may be NULL. */
struct run_observer;
int run_command_observed(struct cli_args *args, const char *world,
                         const struct run_observer *observer);

#endif
