/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle hook`: an agent asks before it uses a tool, on standard input, and hears on standard
 * output what to do: run the command under Buckle, ask the person, leave it, or nothing. Whatever
 * goes wrong here is a refusal; its exit status 2 means the same to agents that look no further.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/door.h"
#include "agent/hook.h"
#include "agent-view.h"
#include "base/own.h"
#include "hook-install.h"
#include "seatbelt/wrap.h"

static const struct cli_option options[] = {
    {"settings", 0, "FILE", "settings besides those that are found", "file"},
    {"shell", 0, "PROGRAM", "the shell that runs commands (bash, or sh)", "file"},
    {"tool", 0, "NAME", "a tool of this name runs commands, too", NULL},
    {"install", 0, "AGENT",
     "write the hook into an agent's configuration: claude, gemini or a file", "claude gemini"},
    {"project", 0, NULL, "with --install: into the project's configuration, not the person's",
     NULL},
    {"uninstall", 0, "AGENT", "take it out again", "claude gemini"},
    {0},
};

enum { REFUSED = 2, MESSAGE_MOST = 16 << 20 };

static int say(json_t *answer, int status)
{
    OWN(json) json_t *a = answer;
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
    return say(hook_refusal(reason), REFUSED);
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

/* ---- the session ---- */

/* The agent: our parent, or who started the shell that started us. */
static pid_t agent_process(void)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "busybox"};
    char path[64], line[512];
    pid_t pid = getppid();
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    OWN(file) FILE *f = fopen(path, "re");
    const char *name = f && fgets(line, sizeof(line), f) ? strchr(line, '(') : NULL;
    const char *end = name ? strrchr(name, ')') : NULL;
    pid_t parent = end ? (pid_t)strtol(end + 4, NULL, 10) : 0;
    for (size_t i = 0; end && i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strlen(shells[i]) == (size_t)(end - name - 1) &&
            memcmp(name + 1, shells[i], (size_t)(end - name - 1)) == 0 && parent > 1)
            return parent;
    return pid;
}

/* The session that was started for the agent; started now when there is none. 0: there is none to
 * be had, which keeps nothing from running. */
static pid_t session_of(const char *program, pid_t agent)
{
    char line[32] = "", owner[16];
    int ends[2];
    pid_t known = door_owner("session", agent);
    if (known > 0)
        return known;
    snprintf(owner, sizeof(owner), "%d", (int)agent);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "session", "--for", owner, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    ssize_t n = child > 0 ? read(ends[0], line, sizeof(line) - 1) : 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return n > 0 ? (pid_t)strtol(line, NULL, 10) : 0;
}

/* ---- the command ---- */

static void wrap(const struct cli_args *args, const struct hook_call *call, const char *program,
                 pid_t session, struct buf *out)
{
    shell_word(out, program);
    buf_str(out, " run --here --annotate --watch-net");
    for (size_t i = 0; i < args_count(args, "settings"); i++) {
        buf_str(out, " --settings ");
        shell_word(out, args_nth(args, "settings", i));
    }
    if (session > 0) {
        buf_fmt(out, " --session %d --command-text ", (int)session);
        shell_word(out, call->command);
    }
    buf_str(out, " -- ");
    shell_word(out, view_shell(args));
    buf_str(out, " -c ");
    shell_word(out, call->command);
}

/* Where we are, and will be in a moment. */
static int program_path(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return -1;
    out[n] = '\0';
    return access(out, X_OK);
}

static int carry_out(const struct cli_args *args, const struct hook_call *call, struct decision d)
{
    static const enum hook_effect effects[] = {[DECIDE_SANDBOXED] = HOOK_ALLOW,
                                               [DECIDE_ASK] = HOOK_ASK,
                                               [DECIDE_OUTSIDE] = HOOK_ALLOW,
                                               [DECIDE_REFUSE] = HOOK_DENY};
    char program[PATH_MAX];
    OWN(buf) struct buf wrapped = {0};
    if (d.action == DECIDE_REFUSE || !d.sandboxed)
        return say(hook_answer(call, effects[d.action], d.reason, NULL), CLI_OK);
    if (program_path(program) < 0)
        return refuse("cannot tell where buckle is");
    wrap(args, call, program, session_of(program, agent_process()), &wrapped);
    if (!buf_ok(&wrapped))
        return refuse("out of memory");
    return say(hook_answer(call, effects[d.action], d.reason, wrapped.s), CLI_OK);
}

static int refuse_error(const struct bk_err *err)
{
    OWN(buf) struct buf why = {0};
    buf_fmt(&why, "%s%s%s", err->file, err->file[0] ? ": " : "", err->msg);
    return refuse(buf_ok(&why) ? why.s : "out of memory");
}

static int answer_call(const struct cli_args *args, const json_t *message)
{
    OWN(agent_view) struct agent_view v = {0};
    struct hook_call call;
    struct bk_err err;
    OWN(mem) const char **files = args_all(args, "settings");
    OWN(mem) const char **tools = args_all(args, "tool");
    if (!files || !tools)
        return refuse("out of memory");
    if (hook_read(message, tools, args_count(args, "tool"), &call) < 0)
        return refuse("a message that is no call of a tool; the command does not run");
    if (!call.shell)
        return say(hook_answer(&call, HOOK_LEAVE, NULL, NULL), CLI_OK);
    if (call.mode && !view_mode(call.mode, &v.mode, &v.planning))
        v.mode = PERMISSION_PROMPT; /* a mode that nobody here knows is no reason to ask less */
    if (!call.cwd[0] && !getcwd(call.cwd, sizeof(call.cwd)))
        return refuse("cannot tell the working directory");
    if (view_read(&v, call.cwd, files, args_count(args, "settings"), &err) < 0)
        return refuse_error(&err);
    struct decide_settings s = view_decides(&v);
    struct decide_request r = {.command = call.command, .bypass = call.bypass};
    return carry_out(args, &call, decide(&s, &r));
}

static int run(struct cli_args *args)
{
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "hook takes options only");
    if (args_has(args, "install") || args_has(args, "uninstall")) {
        bool install = args_has(args, "install");
        const char *agent = args_value(args, install ? "install" : "uninstall");
        return hook_install(agent, args_has(args, "project"), install, &err) < 0 ? cli_fail(&err)
                                                                                 : CLI_OK;
    }
    OWN(json) json_t *message = read_message();
    return message ? answer_call(args, message)
                   : refuse("what the agent sent is not JSON; the command does not run");
}

const struct cli_command cmd_hook = {
    .name = "hook",
    .usage = "[OPTION…]",
    .brief = "put an agent's commands into the sandbox, as its hook before tools",
    .about =
        "Reads one message of an agent's hook before tools from standard input and answers on\n"
        "standard output: a shell's command is rewritten to run under Buckle, put to the person,\n"
        "left alone or refused, as `buckle decide` would have it. Other tools are left alone.\n"
        "What cannot be understood is refused.\n"
        "\n"
        "Exit status: 0 with an answer, 2 when nothing may run.",
    .options = options,
    .run = run,
};
