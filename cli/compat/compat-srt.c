/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `srt`: one settings file, ~/.srt-settings.json unless another is named, and the machine's policy.
 * What it does not list can be read, but not written or reached over the network. The command is a
 * shell's: -c and a single argument are a command line, several arguments are its words. The whole
 * environment is passed on.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/compat/compat.h"
#include "cli/help.h"
#include "cli/run/debug.h"
#include "cli/run/run-live.h"
#include "cli/run/run-settings.h"
#include "cli/run/run-spare.h"
#include "cli/run/run-watch.h"
#include "command/tmpdir.h"
#include "macos/sandbox-exec.h"

static const char TMPDIR[] = "/tmp/claude"; /* where scripts for srt expect it */
enum { FAILED = 1 };

/* clang-format off */
static const struct cli_option options[] = {
    {"debug", 'd', NULL, "show restrictions, and denials as they happen", NULL},
    {"settings", 's', "FILE", "settings file (default: ~/.srt-settings.json)", "file"},
    {"command", 'c', "STRING", "run STRING in a shell", NULL},
    {"control-fd", 0, "N", "read new settings from descriptor N, one JSON object per line", NULL},
    {"shell", 0, "SHELL", "the shell that runs the command (default: bash)", NULL},
    {"session", 0, "PID|fd:N", "report events to this session", NULL},
    {"command-text", 0, "TEXT", "the command line that the session shows", NULL},
    {"ask-session", 0, NULL, "let the session answer questions about hosts that no list names", NULL},
    {"spare", 0, "session", "prepare the sandbox, and wait for the session's next command", NULL},
    {"grantable", 0, NULL, "skip kernel walls, so that anything can be granted later", NULL},
    {"version", 'V', NULL, "print the version", NULL},
    {0},
};
/* clang-format on */

struct srt {
    struct cli_args args;
    struct arena arena;
    struct run_settings settings;
    struct watch_settings watch;
    struct live live;
    struct buf command, rules, links; /* rules: what the session grants */
    const char *argv[4];
    char tmpdir[PATH_MAX];
    int pipe; /* that the settings come from, or -1 */
    char pipe_name[32];
    struct spare spare;
    bool may_use_spare; /* of the session */
    struct run *like;   /* only compares what a sandbox depends on, with this run; or NULL */
    struct compat compat;
};

static int report(const struct bk_err *err)
{
    compat_report("Error", NULL, err);
    return FAILED;
}

/* ---- settings ---- */

static int choose_file(struct srt *s, struct bk_err *err)
{
    const char *home = getenv("HOME");
    s->settings.only = args_value(&s->args, "settings");
    if (s->settings.only || !home)
        return 0;
    size_t n = strlen(home) + sizeof("/.srt-settings.json");
    char *own = arena_alloc(&s->arena, n);
    if (!own)
        return err_nomem(err);
    snprintf(own, n, "%s/.srt-settings.json", home);
    if (access(own, F_OK) == 0 || errno != ENOENT)
        s->settings.only = own;
    else
        debug_print("No ~/.srt-settings.json: the command cannot write files or reach hosts");
    return 0;
}

/* A named pipe is waited for, as a person who names one expects; settings that are found are not.
 */
static int open_pipe(struct srt *s, struct bk_err *err)
{
    const char *file = s->settings.only;
    struct stat st;
    if (!file || stat(file, &st) < 0 || !S_ISFIFO(st.st_mode) || strncmp(file, "/dev/", 5) == 0 ||
        strncmp(file, "/proc/", 6) == 0)
        return 0;
    s->pipe = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (s->pipe < 0)
        return err_sys(err, "cannot read %s", file);
    snprintf(s->pipe_name, sizeof(s->pipe_name), "/dev/fd/%d", s->pipe);
    s->settings.only = s->pipe_name;
    return 0;
}

/* ---- TMPDIR ---- */

/* Whether the folder is the home folder or contains it: TMPDIR is writable, with all below. */
static bool has_home(const char *folder)
{
    char home[PATH_MAX];
    size_t n = strlen(folder);
    n -= folder[n - 1] == '/';
    return getenv("HOME") && realpath(getenv("HOME"), home) && strncmp(folder, home, n) == 0 &&
           (home[n] == '/' || !home[n]);
}

/* Whether it belongs to this user and is no symlink; other users get the session's or the run's. */
static bool tmpdir_is_ours(const char *path)
{
    char name[PATH_MAX];
    struct stat st;
    size_t n = strnlen(path, sizeof(name));
    if (n == sizeof(name))
        return false;
    memcpy(name, path, n + 1);
    while (n > 1 && name[n - 1] == '/') /* which would follow a symlink */
        name[--n] = '\0';
    if (mkdir(name, 0700) < 0 && errno != EEXIST)
        return false;
    return lstat(name, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void choose_tmpdir(struct srt *s)
{
    const char *named = tmpdir_wanted(), *path = named ? named : TMPDIR;
    if (tmpdir_is_ours(path) && realpath(path, s->tmpdir) && !has_home(s->tmpdir))
        s->settings.tmpdir = s->tmpdir;
    else if (s->live.tmpdir[0] == '/')
        s->settings.tmpdir = s->live.tmpdir;
    else
        debug_print("%s is no folder of this user's own: this run uses a private TMPDIR", path);
}

static int make_policy(struct srt *s, struct bk_err *err)
{
    struct run_spec *spec = &s->compat.spec;
    s->settings.bare = true;
    spec->whole_env = true;
    spec->like = s->like;
    choose_tmpdir(s);
    return watch_check(&s->watch, &s->args, err) < 0 || choose_file(s, err) < 0 ||
                   open_pipe(s, err) < 0 || run_settings_read(&s->settings, &s->args, spec, err) < 0
               ? -1
               : 0;
}

static void srt_hold(struct srt *s);
static void srt_next_spare(const struct srt *s);

/* ---- the session ---- */

enum { ASK_MS = 600000 }; /* a program that asks a user has its own time limit */

static void on_event(struct compat *d, const struct event *e)
{
    struct srt *s = d->owner;
    live_event(&s->live, e);
}

static void on_end(struct compat *d, const struct launch_end *end)
{
    struct srt *s = d->owner;
    live_leave(&s->live);
    spare_end(&s->spare, end->timed_out ? 124 << 8 : end->status);
    srt_next_spare(s);
}

static void on_question(void *arg, const struct consent_question *q, int channel)
{
    struct compat *d = arg;
    struct srt *s = d->owner;
    if (run_settings_strict(&s->settings)) /* they may have changed */
        consent_answer(channel, q->id, CONSENT_DENY);
    else
        live_question(&s->live, q, channel);
}

static int join_session(struct srt *s, struct bk_err *err)
{
    const char *where = args_value(&s->args, "session");
    const char *text = args_value(&s->args, "command-text");
    if (!where)
        return 0;
    if (!s->like && live_join(&s->live, where, text ? text : s->command.s, false, &s->rules,
                              &s->links, err) < 0)
        return -1;
    if (!s->like)
        spare_note_grants(&s->spare, &s->rules, &s->links);
    s->settings.rules = (struct run_source){.kind = RUN_TEXT,
                                            .from = SOURCE_FLAG,
                                            .name = "<grants>",
                                            .text = s->rules.s,
                                            .n = s->rules.n,
                                            .apart = true,
                                            .links = s->links.s,
                                            .nlinks = s->links.n};
    s->compat.on_event = on_event;
    s->compat.ending = on_end;
    if (args_has(&s->args, "ask-session")) {
        s->compat.spec.launch.on_question = on_question;
        s->compat.spec.launch.ask_ms = ASK_MS;
    }
    return 0;
}

/* ---- the command ---- */

static int make_command(struct srt *s, struct bk_err *err)
{
    const char *given = args_value(&s->args, "command");
    if (given || s->args.npos == 1) {
        buf_str(&s->command, given ? given : s->args.pos[0]);
    } else {
        for (size_t i = 0; i < s->args.npos; i++) {
            buf_str(&s->command, i ? " " : "");
            shell_word(&s->command, s->args.pos[i]);
        }
    }
    buf_chr(&s->command, '\0');
    if (!buf_ok(&s->command))
        return err_nomem(err);
    const char *shell = args_value(&s->args, "shell");
    s->argv[0] = shell_find(&s->arena, shell ? shell : "bash", getenv("PATH"), err);
    if (!s->argv[0]) {
        debug_print("Shell not found in PATH");
        return -1;
    }
    s->argv[1] = "-c";
    s->argv[2] = s->command.s;
    s->compat.spec.launch.argv = (char *const *)s->argv;
    debug_print("Command: %s -c, %zu byte%s", s->argv[0], s->command.n - 1,
                plural(s->command.n - 1));
    return 0;
}

/* ---- while it runs ---- */

static bool is_ignored(struct compat *d, const char *line)
{
    struct srt *s = d->owner;
    return settings_ignore(&s->settings.now->result, s->command.s, line);
}

static void on_open(struct compat *d)
{
    struct srt *s = d->owner;
    live_open(&s->live, &d->run, &d->spec);
    s->watch.quiet = true; /* except in the debug log */
    if (s->spare.holds)
        srt_hold(s);
    else
        watch_begin(&s->watch, &s->settings, &s->live);
    d->spec.launch.input_fd = s->live.fd_watch.fd;
    if (s->watch.control >= 0)
        debug_print("Listening for settings on fd %d", s->watch.control);
}

static void on_input(struct compat *d)
{
    struct srt *s = d->owner;
    live_handle_input(&s->live);
}

static int fill_srt(struct srt *s, struct bk_err *err)
{
    s->compat.owner = s;
    s->compat.spec.plan.grantable = args_has(&s->args, "grantable");
    return join_session(s, err) < 0 || make_policy(s, err) < 0 ? -1 : 0;
}

/* ---- spares ---- */

static void srt_free(struct srt *s)
{
    run_settings_free(&s->settings);
    spare_free(&s->spare);
    buf_free(&s->command);
    buf_free(&s->rules);
    buf_free(&s->links);
    arena_free(&s->arena);
    free(s);
}

/* Another reading of the same command line, which neither joins the session nor starts anything. */
static bool gather(void *arg, char **argv, bool asks, struct buf *out)
{
    struct srt *s = arg, *q = calloc(1, sizeof(*q));
    struct bk_err err;
    if (!q)
        return false;
    arena_init(&q->arena, 16 << 20);
    q->args = s->args;
    q->like = &s->compat.run;
    q->pipe = -1;
    q->live.asks = asks;
    q->compat.run.private_tmpdir.lock = -1;
    spare_copy_session(&s->spare, &q->live, &q->rules, &q->links);
    struct run_spec *spec = &q->compat.spec;
    bool gathered = compat_init(&q->compat, "srt", &err) == 0;
    spec->launch.argv = argv;
    gathered = gathered && fill_srt(q, &err) == 0 && spec->tmpdir && q->pipe < 0 &&
               !spec->launch.on_question == !s->compat.spec.launch.on_question &&
               run_open(&q->compat.run, spec, false, &err) == 0 &&
               run_put_inputs(&q->compat.run, q->like, out);
    if (gathered)
        run_settings_put(&q->settings, out);
    if (q->compat.run.spec)
        run_close(&q->compat.run);
    if (q->pipe >= 0)
        close(q->pipe);
    srt_free(q);
    return gathered;
}

static bool is_for_any(void *arg)
{
    const struct srt *s = arg;
    return !s->settings.now->by_command;
}

static bool complete(void *arg, struct launch_order *o)
{
    (void)arg;
    o->start = NULL; /* the policy is for the folder that it starts in */
    return true;
}

static void begin(void *arg)
{
    struct srt *s = arg;
    s->compat.spec.launch.argv = s->spare.order.argv;
    s->command.n = 0;
    buf_str(&s->command, s->spare.order.argv[2]);
    buf_chr(&s->command, '\0');
    watch_begin(&s->watch, &s->settings, &s->live);
}

static void on_held(void *arg)
{
    struct compat *d = arg;
    struct srt *s = d->owner;
    spare_held(&s->spare);
}

static void on_start(void *arg)
{
    struct compat *d = arg;
    struct srt *s = d->owner;
    spare_started(&s->spare);
}

static int srt_spare(struct srt *s, struct bk_err *err)
{
    if (spare_choose(&s->spare, &s->args, err) < 0)
        return -1;
    s->spare.name = "srt";
    s->spare.run = &s->compat.run;
    s->spare.live = &s->live;
    s->spare.settings = &s->settings;
    s->spare.gather = gather;
    s->spare.is_for_any = is_for_any;
    s->spare.complete = complete;
    s->spare.begin = begin;
    s->spare.arg = s;
    s->live.spare = s->spare.holds;
    if (s->spare.holds) {
        s->compat.spec.launch.on_held = on_held;
        s->compat.spec.launch.on_start = on_start;
        s->compat.spec.launch.leave_judge = true;
    }
    return 0;
}

static void srt_hold(struct srt *s)
{
    struct bk_err err;
    if (spare_open(&s->spare, &s->compat.spec, &err) < 0)
        _exit(FAILED);
}

static struct spare_call call_of(const struct srt *s)
{
    const char *text = args_value(&s->args, "command-text");
    return (struct spare_call){.args = &s->args,
                               .name = "srt",
                               .argv = (char *const *)s->argv,
                               .text = text ? text : s->command.s};
}

static bool srt_take_spare(struct srt *s, int *status)
{
    struct spare_call c = call_of(s);
    bool taken = args_has(&s->args, "session") && !s->spare.holds && spare_take(&c, status);
    s->may_use_spare = c.possible;
    return taken;
}

static void srt_next_spare(const struct srt *s)
{
    struct spare_call c = call_of(s);
    if (s->live.wants_spare && s->may_use_spare && spare_can_wait(s->settings.now, NULL))
        spare_start_next(&c);
}

/* How compat_run() ends (compat.c). */
static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_srt(struct srt *s)
{
    struct bk_err err;
    struct launch_end end;
    if (!s->args.npos && !args_has(&s->args, "command")) {
        err_set(&err, BK_E_INPUT, "No command specified: give -c STRING or a command");
        return report(&err);
    }
    int status;
    if (compat_init(&s->compat, "srt", &err) < 0 || make_command(s, &err) < 0 ||
        srt_spare(s, &err) < 0)
        return report(&err);
    if (srt_take_spare(s, &status))
        return status_of(status);
    if (fill_srt(s, &err) < 0)
        return report(&err);
    s->compat.opened = on_open;
    s->compat.on_input = on_input;
    s->compat.ignored = is_ignored;
    s->compat.verbose = args_has(&s->args, "debug");
    s->compat.signals_as_status = true;
    compat_run(&s->compat, &end, &err);
    if (end.step != STEP_POLICY)
        report(&err);
    return FAILED;
}

static int show_help(void)
{
    OWN(buf) struct buf out = {0};
    buf_str(&out, "Usage: srt [options] [command...]\n\n"
                  "Runs a command that can reach only the files and hosts in its settings.\n\n"
                  "Options:\n");
    help_options(options, &out);
    return cli_emit(&out, CLI_OK);
}

/* srt's own proxy is the same command, with fewer options. */
static int run_proxy(int argc, char **argv)
{
    const struct cli_command *proxy = find_command("proxy");
    struct cli_args args;
    struct bk_err err;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--version") == 0)
            return printf("srt-proxy %s\n", BK_VERSION) < 0;
    if (!proxy)
        return unknown_command("proxy");
    int status = args_parse(&args, proxy, argc, argv, &err) < 0 ? CLI_ERROR : CLI_OK;
    if (status == CLI_ERROR) {
        compat_report("srt proxy", NULL, &err);
    } else if (args.help) {
        OWN(buf) struct buf out = {0};
        help_command(proxy, &out);
        status = cli_emit(&out, CLI_OK);
    } else {
        status = proxy->run(&args);
    }
    args_free(&args);
    return status;
}

static int main_srt(int argc, char **argv)
{
    struct srt *s = calloc(1, sizeof(*s));
    struct bk_err err;
    int status;
    if (!s)
        return FAILED;
    arena_init(&s->arena, 16 << 20);
    s->pipe = -1;
    s->watch.later = s->watch.files.fd = s->watch.control = -1;
    if (argc > 1 && strcmp(argv[1], "proxy") == 0) {
        status = run_proxy(argc - 1, argv + 1);
    } else if (args_parse(&s->args, &name_srt, argc, argv, &err) < 0) {
        status = report(&err);
    } else if (s->args.help) {
        status = show_help();
    } else if (args_has(&s->args, "version")) {
        status = printf("%s\n", BK_VERSION) < 0;
    } else {
        debug_start(args_has(&s->args, "debug") || getenv("SRT_DEBUG") ? "[SandboxDebug]" : NULL);
        status = run_srt(s);
    }
    args_free(&s->args);
    if (s->pipe >= 0)
        close(s->pipe);
    watch_end(&s->watch);
    live_close(&s->live);
    srt_free(s);
    return status;
}

const struct cli_command name_srt = {
    .name = "srt",
    .usage = "[-d] [-s FILE] [-c STRING] [--control-fd N] [COMMAND…]",
    .brief = "run a command under a settings file",
    .options = options,
    .takes_command = true,
    .main = main_srt,
};
