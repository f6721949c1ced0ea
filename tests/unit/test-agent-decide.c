/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The decision as a table: settings, mode and request to action. */

#include "agent/decide.h"
#include "tap.h"

/* (Disabled, Auto-Allow, Strict) by (client, open, prompt, none), in this order; one letter each:
 * s run-sandboxed, a ask and then inside, c as the client says and then inside, o run-outside, q
 * ask and then outside, l as the client says and then outside, r refuse. */
enum { SETTINGS = 3, MODES = 4, CELLS = SETTINGS * MODES };

static const char *const setting_names[] = {"disabled", "auto-allow", "strict"};
static const char *const mode_names[] = {"client", "open", "prompt", "none"};
static const enum permission_mode modes[] = {PERMISSION_CLIENT, PERMISSION_OPEN, PERMISSION_PROMPT,
                                             PERMISSION_NONE};

/* A mode of none runs nothing. Without sandboxing there is nothing to bypass: commands run outside,
 * after a prompt if the mode has one. */
static const char inside[] = "loqr sssr csar"; /* Auto-Allow skips the prompt, Strict doesn't */
static const char outside[] =
    "loqr loqr loqr"; /* no setting skips the prompt for commands outside */
static const char bypass[] = "loqr qqqr qqqr"; /* no mode grants a bypass unasked */
static const char nothing[] = "rrrr rrrr rrrr";

static const char *const excluded[] = {"docker:*", "make test", "*mcp-cli call*"};

static const struct row {
    const char *name, *command;
    bool bypass, no_bypass; /* no_bypass: allowUnsandboxedCommands is false */
    bool other_shell, planning;
    const char *cells;
} rows[] = {
    {"a command", "ls", .cells = inside},
    {"a command, where bypass is not allowed", "ls", .no_bypass = true, .cells = inside},
    {"a bypass", "ls", .bypass = true, .cells = bypass},
    {"a bypass that is not allowed", "ls", .bypass = true, .no_bypass = true, .cells = inside},
    /* excluded, with and without the right to bypass: the settings decided it */
    {"an excluded command", "docker ps", .cells = outside},
    {"one excluded as it is", "make test", .cells = outside},
    {"one excluded by a wildcard", "./mcp-cli call x", .cells = outside},
    {"an excluded one, where bypass is not allowed", "docker ps", .no_bypass = true,
     .cells = outside},
    {"an excluded one with a bypass that is not allowed", "docker ps", .bypass = true,
     .no_bypass = true, .cells = outside},
    {"an excluded one and another", "docker ps; id", .cells = inside},
    {"an excluded one in a shell of the agent's", "docker ps", .other_shell = true,
     .cells = inside},
    {"a bypass in a shell of the agent's", "ls", .bypass = true, .other_shell = true,
     .cells = bypass},
    {"nothing", NULL, .cells = nothing},
    {"an empty command", "", .cells = nothing},
    {"white space, and a bypass", " \n\t", .bypass = true, .cells = nothing},
    {"a command in plan mode", "ls", .planning = true, .cells = nothing},
    {"a bypass in plan mode", "ls", .bypass = true, .planning = true, .cells = nothing},
    {"an excluded one in plan mode", "docker ps", .planning = true, .cells = nothing},
};

static char letter_of(const struct decision *d)
{
    switch (d->action) {
    case DECIDE_SANDBOXED:
        return d->sandboxed ? 's' : '?';
    case DECIDE_ASK:
        return d->sandboxed ? 'a' : 'q';
    case DECIDE_OUTSIDE:
        return d->sandboxed ? '?' : 'o';
    case DECIDE_CLIENT:
        return d->sandboxed ? 'c' : 'l';
    case DECIDE_REFUSE:
        return d->sandboxed ? '?' : 'r';
    }
    return '?';
}

static struct decide_settings settings_at(size_t cell, const struct row *r)
{
    size_t setting = cell / MODES; /* index into setting_names */
    return (struct decide_settings){.enabled = setting != 0,
                                    .auto_allow = setting == 1,
                                    .allow_unsandboxed = !r->no_bypass,
                                    .excluded = excluded,
                                    .nexcluded = 3,
                                    .mode = modes[cell % MODES],
                                    .planning = r->planning};
}

/* Rules about commands, applied to a line: the row that decides. */
static void rules_of_commands(void)
{
    static const char *push[] = {"git push *"}, *fetch[] = {"curl *", "/opt/x/wget"},
                      *make[] = {"make *"}, *out[] = {"git:*", "make:*", "sh:*"};
    struct command_rule list[] = {
        {.match = {push, 1}, .origin = "user settings, line 2", .ask = true},
        {.match = {fetch, 2}, .origin = "user settings, line 3", .reason = "use npm", .deny = true},
        {.match = {make, 1}, .origin = "user settings, line 4", .deny_network = true},
    };
    const struct access access = {.commands = list, .ncommands = 3};
    static const struct {
        const char *command;
        int on, off; /* rows with and without a sandbox; -1: the usual one */
    } lines[] = {
        {"git push", DECIDE_ROW_COMMAND_ASKED, DECIDE_ROW_DISABLED_ASKED},
        {"git push origin main", DECIDE_ROW_COMMAND_ASKED, DECIDE_ROW_DISABLED_ASKED},
        {"/usr/bin/git 'push' origin", DECIDE_ROW_COMMAND_ASKED, DECIDE_ROW_DISABLED_ASKED},
        {"git pushy", DECIDE_ROW_EXCLUDED, DECIDE_ROW_DISABLED},
        {"git log", DECIDE_ROW_EXCLUDED, DECIDE_ROW_DISABLED},
        {"ls; X=1 git push", DECIDE_ROW_COMMAND_ASKED, DECIDE_ROW_DISABLED_ASKED},
        {"curl x", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"ls | xargs curl -s", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"echo $(curl x)", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"if true; then curl x; fi", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"(curl x", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"/opt/x/wget", DECIDE_ROW_COMMAND_DENIED, DECIDE_ROW_COMMAND_DENIED},
        {"wget", DECIDE_ROW_ANY, DECIDE_ROW_DISABLED},
        {"echo 'curl x'", DECIDE_ROW_ANY, DECIDE_ROW_DISABLED_ASKED},
        {"sh -c 'curl x'", DECIDE_ROW_ANY, DECIDE_ROW_DISABLED_ASKED},
        {"$x", DECIDE_ROW_ANY, DECIDE_ROW_DISABLED_ASKED},
        {"make all", DECIDE_ROW_ANY, DECIDE_ROW_DISABLED_ASKED},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct decide_settings s = {.enabled = true,
                                    .excluded = out,
                                    .nexcluded = 3,
                                    .mode = PERMISSION_OPEN,
                                    .access = &access};
        struct decide_request q = {.command = lines[i].command};
        is_int(decide(&s, &q).row, lines[i].on, "%s", lines[i].command);
        s.enabled = false;
        is_int(decide(&s, &q).row, lines[i].off, "outside: %s", lines[i].command);
    }
    struct decide_settings s = {.enabled = true, .mode = PERMISSION_OPEN, .access = &access};
    struct decision d = decide(&s, &(struct decide_request){.command = "curl x"});
    struct buf reason = {0};
    decide_reason(&d, &reason);
    is_str(reason.s, "the settings deny this command (user settings, line 3): use npm",
           "the reason names the rule");
    buf_free(&reason);
}

static void table(void)
{
    bool used[DECIDE_ROWS] = {false};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t cell = 0; cell < CELLS; cell++) {
            const struct row *r = &rows[i];
            struct decide_settings s = settings_at(cell, r);
            struct decide_request q = {
                .command = r->command, .bypass = r->bypass, .other_shell = r->other_shell};
            struct decision d = decide(&s, &q);
            used[d.row] = true;
            char got[2] = {letter_of(&d)}, want[2] = {r->cells[cell + cell / MODES]};
            is_str(got, want, "%s, %s: %s", setting_names[cell / MODES], mode_names[cell % MODES],
                   r->name);
            if (!d.reason || !d.reason[0])
                ok(false, "  with a reason");
        }
    for (int i = 0; i < DECIDE_ROWS; i++)
        if (i != DECIDE_ROW_COMMAND_DENIED && i != DECIDE_ROW_DISABLED_ASKED &&
            i != DECIDE_ROW_COMMAND_ASKED) /* rules_of_commands() */
            ok(used[i], "decided by: %s", decide_row_words(i));
}

/* Sub-agents inherit settings, but not a request's flags. */
static void inheritance(void)
{
    static const struct row plain = {.command = "ls"};
    struct decide_settings s = settings_at(5, &plain); /* Auto-Allow, open */
    struct decision bypassed =
        decide(&s, &(struct decide_request){.command = "ls", .bypass = true});
    struct decision after = decide(&s, &(struct decide_request){.command = "ls"});
    ok(bypassed.action == DECIDE_ASK && !bypassed.sandboxed && after.action == DECIDE_SANDBOXED,
       "a bypass counts for one command");
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
    /* only a simple command matches */
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
    /* these only look like one */
    {"git:*", "git log \\\nrm x", false},
    {"git:*", "git\\\n log", false},
    {"git:*", "git log\rrm x", false},
    {"git:*", "git log\vrm x", false},
    {"git:*", "git log\r\nrm x", false},
    {"git:*", "git\u00a0log", false},
    {"git:*", "git\u2003log", false},
    {"git log", "\u00a0git log", false},
    {"git log", "git log\u2028rm x", false},
    {"git:*", "git 'a'$(rm x)", false},
    {"git:*", "git \"a\\\"; rm x", false},
    {"git:*", "git $'a\\x27; rm x'", false},
    {"git:*", "git \"${x:=`rm x`}\"", false},
    {"git:*", "git ${x}", false},
    {"git:*", "git !rm", false},
    {"git:*", "git log >| x", false},
    {"git:*", "git log &> x", false},
    {"git:*", "git log <<< x", false},
    {"git:*", "git log |& sh", false},
    {"git:*", "git log ^ sh", false},
    {"git:*", "git *(e:'rm x':)", false},
    {"*git*", "A=1 B=2 git log", false},
    {"*git*", "A+=1 git log", false},
    {"*git*", "A[0]=1 git log", false},
    {"*git*", "g?t log # git", false},
    {"*git*", "./[g]it git", false},
    {"*git*", "./* git", false},
    {"*git*", "'exec' git log", false},
    {"*git*", "\"eval\" git", false},
    {"*git*", "\\git log", false},
    {"*git*", "alias git", false},
    {"*git*", "and git log", false},
    {"*git*", "[ git", false},
    {"*git*", "~/git", true},
};

int main(void)
{
    table();
    rules_of_commands();
    inheritance();
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        ok(exclude_matches(patterns[i].pattern, patterns[i].command) == patterns[i].matches,
           "[%s] %s [%s]", patterns[i].pattern, patterns[i].matches ? "is" : "is not",
           patterns[i].command);
    return done_testing();
}
