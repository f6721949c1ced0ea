/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The decision as a table: settings, mode and request to what becomes of the command. */

#include "agent/decide.h"
#include "tap.h"

enum setting { DISABLED, AUTO, STRICT };

static const char *const setting_names[] = {"disabled", "auto-allow", "strict"};
static const char *const mode_names[] = {"prompt", "open", "none"};

static const char *const excluded[] = {"docker:*", "make test", "*mcp-cli call*"};

static const struct row {
    enum setting setting;
    enum permission_mode mode;
    bool planning, no_bypass; /* no_bypass: allowUnsandboxedCommands is false */
    const char *command;
    bool bypass;
    enum decide_action action;
    bool sandboxed;
} rows[] = {
    /* where nothing is special, the mode and the setting decide */
    {DISABLED, PERMISSION_OPEN, 0, 0, "ls", 0, DECIDE_OUTSIDE, false},
    {DISABLED, PERMISSION_PROMPT, 0, 0, "ls", 0, DECIDE_ASK, false},
    {DISABLED, PERMISSION_NONE, 0, 0, "ls", 0, DECIDE_REFUSE, false},
    {AUTO, PERMISSION_OPEN, 0, 0, "ls", 0, DECIDE_SANDBOXED, true},
    {AUTO, PERMISSION_PROMPT, 0, 0, "ls", 0, DECIDE_SANDBOXED, true},
    {AUTO, PERMISSION_NONE, 0, 0, "ls", 0, DECIDE_REFUSE, false},
    {STRICT, PERMISSION_OPEN, 0, 0, "ls", 0, DECIDE_SANDBOXED, true},
    {STRICT, PERMISSION_PROMPT, 0, 0, "ls", 0, DECIDE_ASK, true},
    {STRICT, PERMISSION_NONE, 0, 0, "ls", 0, DECIDE_REFUSE, false},
    /* a bypass counts where policy allows it, and a prompt stays a prompt */
    {AUTO, PERMISSION_OPEN, 0, 0, "ls", 1, DECIDE_OUTSIDE, false},
    {AUTO, PERMISSION_PROMPT, 0, 0, "ls", 1, DECIDE_ASK, false},
    {STRICT, PERMISSION_PROMPT, 0, 0, "ls", 1, DECIDE_ASK, false},
    {AUTO, PERMISSION_NONE, 0, 0, "ls", 1, DECIDE_REFUSE, false},
    {AUTO, PERMISSION_OPEN, 0, 1, "ls", 1, DECIDE_SANDBOXED, true},
    {AUTO, PERMISSION_PROMPT, 0, 1, "ls", 1, DECIDE_SANDBOXED, true},
    {STRICT, PERMISSION_PROMPT, 0, 1, "ls", 1, DECIDE_ASK, true},
    {DISABLED, PERMISSION_PROMPT, 0, 1, "ls", 1, DECIDE_ASK, false},
    /* excluded, with and without the right to bypass: that is the settings' own word */
    {AUTO, PERMISSION_OPEN, 0, 0, "docker ps", 0, DECIDE_OUTSIDE, false},
    {AUTO, PERMISSION_PROMPT, 0, 0, "docker ps", 0, DECIDE_ASK, false},
    {AUTO, PERMISSION_OPEN, 0, 1, "docker ps", 0, DECIDE_OUTSIDE, false},
    {AUTO, PERMISSION_OPEN, 0, 0, "docker ps; id", 0, DECIDE_SANDBOXED, true},
    {STRICT, PERMISSION_PROMPT, 0, 0, "docker ps; id", 0, DECIDE_ASK, true},
    /* nothing to run */
    {AUTO, PERMISSION_OPEN, 0, 0, "", 0, DECIDE_REFUSE, false},
    {AUTO, PERMISSION_OPEN, 0, 0, " \n\t", 1, DECIDE_REFUSE, false},
    {AUTO, PERMISSION_OPEN, 0, 0, NULL, 0, DECIDE_REFUSE, false},
    /* while a plan is made nothing runs, whatever is wished */
    {AUTO, PERMISSION_OPEN, 1, 0, "ls", 0, DECIDE_REFUSE, false},
    {AUTO, PERMISSION_OPEN, 1, 0, "ls", 1, DECIDE_REFUSE, false},
    {DISABLED, PERMISSION_OPEN, 1, 0, "docker ps", 0, DECIDE_REFUSE, false},
};

static void table(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct decide_settings s = {.enabled = r->setting != DISABLED,
                                    .auto_allow = r->setting == AUTO,
                                    .allow_unsandboxed = !r->no_bypass,
                                    .excluded = excluded,
                                    .nexcluded = 3,
                                    .mode = r->mode,
                                    .planning = r->planning};
        struct decide_request q = {.command = r->command, .bypass = r->bypass};
        struct decision d = decide(&s, &q);
        ok(d.action == r->action && d.sandboxed == r->sandboxed, "%s, %s%s%s: %s%s → %s",
           setting_names[r->setting], mode_names[r->mode], r->planning ? ", planning" : "",
           r->no_bypass ? ", no bypass" : "", r->command ? r->command : "nothing",
           r->bypass ? " outside" : "", decide_action_name(r->action));
        ok(d.reason && d.reason[0], "  with a reason: %s", d.reason);
    }
}

static const struct {
    const char *pattern, *command;
    bool matches;
} patterns[] = {
    {"docker ps", "docker ps", true},
    {"docker ps", "  docker ps \n", true},
    {"docker ps", "docker ps -a", false},
    {"docker", "docker ps", false},
    {"docker:*", "docker", true},
    {"docker:*", "docker ps -a", true},
    {"docker:*", "docker-compose up", false},
    {"docker:*", "docker\tps", false},
    {"npm run:*", "npm run build", true},
    {"npm run:*", "npm runner", false},
    {"git *", "git status", true},
    {"git *", "git", false},
    {"*status", "git status", true},
    {"g*t*s", "git status", true},
    {"g*x*s", "git status", false},
    {"*", "anything at all", true},
    {"echo \\*", "echo *", true},
    {"echo \\*", "echo x", false},
    {"", "ls", false},
    /* one simple command, and nothing else */
    {"git:*", "git status && rm x", false},
    {"git:*", "git status || rm x", false},
    {"git:*", "git status; rm x", false},
    {"git:*", "git status & rm x", false},
    {"git:*", "git log | sh", false},
    {"git:*", "git status\nrm x", false},
    {"git:*", "git $(rm x)", false},
    {"git:*", "git `rm x`", false},
    {"git:*", "git \"$(rm x)\"", false},
    {"git:*", "git \"`rm x`\"", false},
    {"git:*", "git $HOME", false},
    {"git:*", "git log > x", false},
    {"git:*", "git log < x", false},
    {"git:*", "git <(rm x)", false},
    {"git:*", "git log 2>&1", false},
    {"*git*", "PATH=. git log", false},
    {"*git*", "GIT_SSH_COMMAND=evil git fetch", false},
    {"*git*", "if git log", false},
    {"*git*", "eval 'git log'", false},
    {"*git*", "! git log", false},
    {"*git*", "{ git log", false},
    {"*git*", "(git log)", false},
    {"git:*", "git log # x", false},
    {"git:*", "git log \\", false},
    {"git:*", "git 'unfinished", false},
    {"git:*", "git {a,b}", false},
    {"git:*", "git commit -m 'a; b && $(c)'", true},
    {"git:*", "git commit -m \"two words\"", true},
    {"git:*", "git add *.c ~/x [ab]?", true},
    {"git:*", "git commit -m 'grün'", true},
    {"git:*", "git commit -m 'a\nb'", false},
    {"git:*", "git log\r", true},
    {"git:*", "git \x01", false},
};

int main(void)
{
    table();
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        ok(exclude_matches(patterns[i].pattern, patterns[i].command) == patterns[i].matches,
           "[%s] %s [%s]", patterns[i].pattern, patterns[i].matches ? "is" : "is not",
           patterns[i].command);
    return done_testing();
}
