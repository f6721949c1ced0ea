/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle hook`: an agent sends a message on standard input before it uses a tool. The answer on
 * standard output tells it to run the command under Buckle, ask the user, leave the command alone,
 * or not run it. Every failure here is a refusal: agents that only look at the exit status take 2
 * for one.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/client-rules.h"
#include "agent/hook-event.h"
#include "agent/hook.h"
#include "agent/line-rules.h"
#include "base/own.h"
#include "cli/agent/cli-agent-view.h"
#include "cli/agent/hook-foreign.h"
#include "cli/agent/hook-install.h"
#include "cli/agent/hook-root.h"
#include "cli/args.h"
#include "cli/agent/client-path.h"
#include "macos/sandbox-exec.h"
#include "system/process.h"

static const char agent_names[] =
#define AGENT(id, name, title, version, source, kind, effect, user, project, mcp, mcp_key,         \
              program)                                                                             \
    name " "
#include "cli/agent/agents.def"
    ;

static const struct cli_option options[] = {
    {"settings", 0, "FILE", "settings to use in addition to those found", "file"},
    {"shell", 0, "PROGRAM", "the shell that runs commands (default: bash, else sh)", "file"},
    {"by-status", 0, NULL,
     "answer by the exit status only: 0 if the command may run as it is, else 2", NULL},
    {"tool", 0, "NAME", "treat this tool as a shell, too", NULL},
    {"try", 0, NULL, "let commands write to a world of the session (see `buckle try`)", NULL},
    {"here", 0, NULL, "run commands even if the agent started in / or the home directory", NULL},
    {"install", 0, "AGENT", "add the hook to an agent's configuration; the agents are listed below",
     agent_names},
    {"project", 0, NULL, "with --install: use the project's configuration, not the user's", NULL},
    {"mcp", 0, NULL, "with --install: add the MCP server instead of the hook", NULL},
    {"dry-run", 0, NULL, "with --install: print the difference and change nothing", NULL},
    {"uninstall", 0, "AGENT", "remove the hook again", agent_names},
    {0},
};

enum { REFUSED = 2, MESSAGE_MOST = 16 << 20 };

static struct foreign foreign; /* how this agent's messages differ, for every way to answer */

static int print_answer(json_t *answer, int status)
{
    OWN(json) json_t *a = foreign_answer(&foreign, answer, &status);
    if (!a && foreign.kind == FOREIGN_STATUS)
        return status;
    OWN(mem) char *text = a ? json_dumps(a, JSON_COMPACT) : NULL;
    OWN(buf) struct buf shown = {0};
    if (text)
        buf_json_text(&shown, text, strlen(text));
    if (!shown.n || !buf_ok(&shown) || puts(shown.s) < 0 || fflush(stdout) != 0)
        return REFUSED;
    return status;
}

static int refuse(const char *reason)
{
    fprintf(stderr, "buckle: %s\n", reason);
    return print_answer(hook_refusal(reason), REFUSED);
}

static json_t *read_message(void)
{
    OWN(buf) struct buf text = {0};
    char block[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, block, sizeof(block))) != 0) {
        if (n < 0 && errno != EINTR)
            return NULL;
        if (n > 0)
            buf_add(&text, block, (size_t)n);
        if (text.n > MESSAGE_MOST)
            return NULL;
    }
    return buf_ok(&text) && text.n ? json_loadb(text.s, text.n, JSON_REJECT_DUPLICATES, NULL)
                                   : NULL;
}

/* ---- the command ---- */

/* The tool call that is being answered. */
struct answering {
    const struct cli_args *args;
    struct hook_call call;
    char program[PATH_MAX]; /* path of this program */
    char client[PATH_MAX];  /* and of the one that the rewritten command runs */
    struct hook_root root;
    struct agent_view view;
    const char **files; /* from --settings */
    size_t nfiles;
};

static void answering_free(struct answering *a)
{
    view_free(&a->view);
    for (size_t i = 0; a->files && i < a->nfiles; i++)
        free((char *)a->files[i]);
    free(a->files);
}
#define OWN_answering answering_free

/* Relative to the project: the model may have chosen our working directory. */
static int resolve_files(struct answering *a)
{
    const char *file;
    a->files = calloc(args_count(a->args, "settings") + 1, sizeof(*a->files));
    for (size_t i = 0; a->files && (file = args_nth(a->args, "settings", i)); i++) {
        OWN(buf) struct buf whole = {0};
        if (file[0] != '/')
            buf_fmt(&whole, "%s/", a->root.path);
        buf_str(&whole, file);
        if (!buf_ok(&whole))
            return -1;
        a->files[a->nfiles++] = steal_ptr(&whole.s);
    }
    return a->files ? 0 : -1;
}

/* The user sees the line and agrees to it, so that the run need not ask again. */
static void add_agreed(void *arg, const char *pattern)
{
    buf_str(arg, " --allow-command ");
    shell_word(arg, pattern);
}

/* Inside `buckle agent`: the commands share a TMPDIR in the agent's own, which ends with it. */
static void add_inner_tmpdir(const char *tmpdir, struct buf *out)
{
    char path[PATH_MAX];
    if (!tmpdir || tmpdir[0] != '/' ||
        snprintf(path, sizeof(path), "%s/.in", tmpdir) >= (int)sizeof(path) - 16 ||
        (mkdir(path, 0700) < 0 && errno != EEXIST))
        return;
    strcat(path, "/commands");
    buf_str(out, " --tmpdir ");
    shell_word(out, path);
}

static void rewrite_command(struct answering *a, bool agreed, struct buf *out)
{
    pid_t session =
        a->root.session > 0 ? a->root.session : hook_session(a->program, args_has(a->args, "try"));
    const struct cli_args *args = a->args;
    const struct hook_call *call = &a->call;
    shell_word(out, session > 0 ? a->client : a->program);
    buf_str(out, " run --annotate --watch-net --root ");
    shell_word(out, a->root.path);
    if (args_has(args, "here"))
        buf_str(out, " --here");
    for (size_t i = 0; i < a->nfiles; i++) {
        buf_str(out, " --settings ");
        shell_word(out, a->files[i]);
    }
    if (session > 0)
        buf_fmt(out, " --session %d --ask-session --leave-background", (int)session);
    bool inner = session <= 0 && getenv("SANDBOX_RUNTIME");
    /* inside `buckle agent --try` everything is in that world */
    if (args_has(args, "try") && !(inner && getenv("BUCKLE_WORLD")))
        buf_str(out, " --session-world");
    if (inner)
        add_inner_tmpdir(getenv("TMPDIR"), out);
    if ((session > 0 || inner) && call->keeps_folder) {
        buf_str(out, " --folder-of ");
        shell_word(out, call->session ? call->session : "");
    }
    if (agreed)
        line_rules_asked(&a->view.result.policy, call->command, add_agreed, out);
    buf_str(out, " -- ");
    shell_word(out, view_shell(args));
    buf_str(out, " -c ");
    shell_word(out, call->command);
}

static int program_path(char out[PATH_MAX])
{
    return process_own_path(out) < 0 ? -1 : access(out, X_OK);
}

static int refuse_root(const char *root, const char *all)
{
    OWN(buf) struct buf why = {0};
    buf_safe(&why, root, strlen(root));
    buf_fmt(&why,
            " is %s: a command could write to all of it; start the agent in a project folder, list "
            "filesystem.allowWrite in your settings, or give the hook --here",
            all);
    return refuse(buf_ok(&why) ? why.s : "out of memory");
}

/* Where the answer may be nobody's, the run asks when a rule's command starts. It cannot ask about
 * other lines. */
static enum hook_effect effect_of_question(const struct answering *a, const struct decision *d)
{
    if (d->row == DECIDE_ROW_COMMAND_ASKED && !a->call.vouches)
        return HOOK_PASS;
    return a->call.asks ? HOOK_ASK : HOOK_DENY;
}

/* The agent's own rules about the original command; it would apply them to ours. */
static enum hook_effect effect_inside(const struct answering *a, const struct decision *d)
{
    enum client_rule rule = client_rule_about(&a->call, a->root.path);
    const char *mode = a->call.mode;
    if (rule == CLIENT_DENIES || (rule == CLIENT_ASKS && !a->call.asks))
        return HOOK_DENY;
    if (d->action == DECIDE_ASK)
        return effect_of_question(a, d);
    if (rule == CLIENT_ASKS)
        return HOOK_ASK;
    bool open = a->call.rules_tool && mode && strcmp(mode, "bypassPermissions") == 0;
    return d->action == DECIDE_SANDBOXED || rule == CLIENT_ALLOWS || open ? HOOK_ALLOW : HOOK_PASS;
}

/* Why a command that may run inside does not. */
static const char *why_not(const struct answering *a)
{
    enum client_rule rule = client_rule_about(&a->call, a->root.path);
    return rule == CLIENT_DENIES ? "the agent's own settings deny this command"
           : rule == CLIENT_ASKS
               ? "the agent's own settings ask about this command, and its hooks cannot ask now"
               : "the settings ask about this command, and this agent cannot ask its user now";
}

/* What runs outside runs as it is, and the agent's own rules decide about it. */
static int answer_outside(const struct answering *a, const struct decision *d)
{
    enum hook_effect effect = d->action == DECIDE_REFUSE ? HOOK_DENY
                              : d->action == DECIDE_ASK  ? (a->call.vouches ? HOOK_ASK : HOOK_DENY)
                                                         : HOOK_LEAVE;
    OWN(buf) struct buf reason = {0};
    decide_reason(d, &reason);
    return print_answer(hook_answer(&a->call, effect, buf_ok(&reason) ? reason.s : d->reason, NULL),
                        CLI_OK);
}

static int carry_out(struct answering *a, struct decision d)
{
    OWN(buf) struct buf wrapped = {0};
    if (!d.sandboxed)
        return answer_outside(a, &d);
    enum hook_effect effect = effect_inside(a, &d);
    if (effect == HOOK_DENY)
        return print_answer(hook_answer(&a->call, effect, why_not(a), NULL), CLI_OK);
    const char *all = args_has(a->args, "here") ? NULL : view_root_is_all(&a->view, a->root.path);
    if (all)
        return refuse_root(a->root.path, all);
    OWN(buf) struct buf reason = {0};
    decide_reason(&d, &reason);
    bool agreed = effect == HOOK_ASK && a->call.vouches && d.row == DECIDE_ROW_COMMAND_ASKED;
    rewrite_command(a, agreed, &wrapped);
    if (!buf_ok(&wrapped) || !buf_ok(&reason))
        return refuse("out of memory");
    return print_answer(hook_answer(&a->call, effect, reason.s, wrapped.s), CLI_OK);
}

static int refuse_error(const struct bk_err *err)
{
    OWN(buf) struct buf why = {0};
    buf_fmt(&why, "%s%s%s", err->file, err->file[0] ? ": " : "", err->msg);
    return refuse(buf_ok(&why) ? why.s : "out of memory");
}

static int answer_call(const struct cli_args *args, const json_t *message)
{
    OWN(answering) struct answering a = {.args = args};
    struct hook_call *call = &a.call;
    struct bk_err err;
    OWN(mem) const char **tools = args_all(args, "tool");
    if (!tools)
        return refuse("out of memory");
    if (hook_read(message, tools, args_count(args, "tool"), call) < 0)
        return refuse("the message is not a tool call; the command does not run");
    if (foreign.kind == FOREIGN_CODEX)
        call->rules_tool = "codex";
    if (foreign.kind == FOREIGN_CURSOR)
        call->rules_tool = "cursor";
    if (!foreign_asks(&foreign))
        call->asks = call->vouches = call->bypass = false;
    if (!call->shell)
        return print_answer(hook_answer(call, HOOK_LEAVE, NULL, NULL), CLI_OK);
    a.view.mode = hook_mode(call, &a.view.planning);
    if (program_path(a.program) < 0)
        return refuse("cannot find the path of buckle");
    if (!client_path(a.program, a.client))
        memcpy(a.client, a.program, sizeof(a.client));
    call->ours[0] = a.client;
    call->ours[1] = a.program;
    if (hook_root(call, a.program, args_has(args, "try"), &a.root, &err) < 0)
        return refuse_error(&err);
    if (resolve_files(&a) < 0)
        return refuse("out of memory");
    if (view_read(&a.view, a.root.path, a.files, a.nfiles, &err) < 0)
        return refuse_error(&err);
    if (view_asks(&a.view)) { /* only then, for the time it takes */
        a.root.session =
            a.root.session > 0 ? a.root.session : hook_session(a.program, args_has(args, "try"));
        OWN(json) json_t *grants = hook_grants(a.root.session);
        view_agree(&a.view, grants);
    }
    struct decide_settings s = view_decides(&a.view);
    struct decide_request r = {.command = call->command, .bypass = call->bypass};
    return carry_out(&a, decide(&s, &r));
}

/* ---- other events ---- */

/* Describes the sandbox of the project for a model. A failure must not stop anything here, and the
 * first command reports it. */
static json_t *describe_sandbox(const struct cli_args *args, const json_t *message)
{
    OWN(agent_view) struct agent_view v = {.mode = PERMISSION_CLIENT};
    OWN(mem) const char **files = args_all(args, "settings");
    OWN(buf) struct buf text = {0};
    struct bk_err err;
    char root[PATH_MAX];
    const char *named = getenv("CLAUDE_PROJECT_DIR"), *cwd = json_text(message, "cwd");
    const json_t *roots = json_object_get(message, "workspaceRoots"); /* Cline's */
    cwd = cwd ? cwd : json_string_value(json_array_get(roots, 0));
    const char *folder = named && named[0] == '/' ? named : cwd ? cwd : ".";
    if (files && realpath(folder, root) &&
        view_read(&v, root, files, args_count(args, "settings"), &err) == 0)
        summary_text(&v, &text);
    return hook_context(message, text.s, buf_ok(&text) ? text.n : 0);
}

static int answer_message(const struct cli_args *args, const json_t *message)
{
    switch (hook_event_of(message)) {
    case HOOK_CONTEXT:
        return print_answer(describe_sandbox(args, message), CLI_OK);
    case HOOK_DISPLAY:
        return print_answer(hook_display(message), CLI_OK);
    default:
        return answer_call(args, message);
    }
}

static int cmd_hook_run(struct cli_args *args)
{
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "hook takes options only");
    if (args_has(args, "install") || args_has(args, "uninstall")) {
        bool install = args_has(args, "install");
        struct hook_install how = {.agent = args_value(args, install ? "install" : "uninstall"),
                                   .project = args_has(args, "project"),
                                   .install = install,
                                   .mcp = args_has(args, "mcp"),
                                   .dry = args_has(args, "dry-run")};
        if (install && args_has(args, "uninstall"))
            return cli_usage(args, "give --install or --uninstall");
        return hook_install(&how, &err) < 0 ? cli_fail(&err) : CLI_OK;
    }
    OWN(json) json_t *message = read_message();
    message = message ? foreign_message(&foreign, message, args_has(args, "by-status")) : NULL;
    if (message && foreign.other)
        return print_answer(json_object(), CLI_OK);
    return message ? answer_message(args, message)
                   : refuse("the agent did not send JSON; the command does not run");
}

const struct cli_command cmd_hook = {
    .name = "hook",
    .usage = "[OPTION…]",
    .brief = "sandbox an agent's commands, as its pre-tool hook",
    .about =
        "Reads one message of an agent from standard input and answers on standard output. About\n"
        "a shell command it decides as `buckle decide` does: rewrite it to run under Buckle, ask\n"
        "the user, leave it unchanged, or refuse it. The agent's own rules decide about approval.\n"
        "It leaves other tools alone and refuses messages that it cannot understand. When a\n"
        "session or a sub-agent starts, it describes the sandbox for the model. When the agent\n"
        "shows text, it removes the blocks of violations.\n"
        "\n"
        "--install adds it to the configuration of claude, gemini, codex, cursor, copilot, "
        "opencode,\n"
        "qwen, windsurf, kiro, amp, goose or cline, or to a file in Claude Code's format. "
        "Everything\n"
        "else in the file stays as it is. If the agent's hooks can only refuse commands, it adds "
        "the\n"
        "MCP server, too.\n"
        "\n"
        "Exit status: 0 with an answer, 2 if nothing may run.",
    .options = options,
    .run = cmd_hook_run,
};
