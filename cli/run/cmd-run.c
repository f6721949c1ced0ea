/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run`: flags → SBPL → graph → plan → launch → summary. Flags about policy become SBPL text
 * first, so that --dry-run, the report and `buckle explain` show the same rules.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/debug.h"
#include "cli/run/exit-status.h"
#include "cli/run/invocation.h"
#include "cli/run/learner.h"
#include "cli/run/record-flags.h"
#include "cli/run/run-ask.h"
#include "cli/run/run-options.h"
#include "cli/run/run-presets.h"
#include "command/capabilities.h"
#include "run/left-out.h"
#include "vocab/protected-classes.h"

/* as in env(1), if the command is not what failed */
enum { FAILED = 125 };

/* ---- numbers and places ---- */

/* The writable folder must not be the whole home or disk. */
int invocation_check_place(struct invocation *r, struct bk_err *err)
{
    const char *all = run_place_is_all(r->cwd);
    if (!all || args_has(r->args, "here") || args_has(r->args, "profile") ||
        r->settings.writes_listed)
        return 0;
    err_set(err, BK_E_INPUT, "%s is %s: the command could write to all of it", r->cwd, all);
    err_hint(err, "change to a project directory first, or use --here");
    return -1;
}

static int choose_report(struct invocation *r, struct bk_err *err)
{
    const char *how = args_value(r->args, "report");
    r->report_fd = STDERR_FILENO;
    r->verbose = args_has(r->args, "verbose");
    if (!how || strcmp(how, "text") == 0)
        return 0;
    if (strcmp(how, "none") == 0) {
        r->how = REPORT_NONE;
        return 0;
    }
    r->how = REPORT_JSON;
    uint64_t fd = STDERR_FILENO;
    if (strncmp(how, "fd:", 3) == 0 && args_amount("report", how + 3, 1023, &fd, err) < 0)
        return -1;
    if (strncmp(how, "fd:", 3) != 0 && strcmp(how, "json") != 0)
        return err_set(err, BK_E_INPUT, "--report must be text, json, none or fd:N, not %s", how);
    r->report_fd = (int)fd;
    /* a descriptor that the command can write to is not trustworthy */
    if (fd > STDERR_FILENO && fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, "--report: descriptor %d", (int)fd);
    return 0;
}

/* ---- telling ---- */

static void on_event(void *arg, const struct event *e)
{
    struct invocation *r = arg;
    struct buf line = {0};
    program_mounts_note(&r->mounts, e);
    if (r->observer)
        r->observer->on_event(r->observer->arg, e);
    if ((r->observer && r->observer->ntexts && e->allow) || run_settings_ignore(&r->settings, e))
        return;
    if (!r->report)
        r->report = report_new(0);
    if (r->report)
        report_add(r->report, e);
    live_event(&r->live, e);
    if (args_has(r->args, "title"))
        title_show(&r->title, &r->live.fd_watch, r->live.denied);
    if (r->how == REPORT_JSON) {
        struct policies policies = run_policies(&r->run);
        event_json(e, policies_graph(&policies, e->policy), NULL, &line);
        buf_chr(&line, '\n');
    } else if (r->how == REPORT_TEXT && r->verbose) {
        buf_str(&line, "buckle: ");
        event_line(e, &line);
        buf_chr(&line, '\n');
    }
    exit_write(r->report_fd, &line);
}

/* A program without an expected variable fails in its own way; this line says why. A successful run
 * stays silent. */
static void report_removed(const struct invocation *r)
{
    for (size_t i = 0; i < r->run.unmasked.n; i++)
        fprintf(stderr, "buckle: credentials: there is nothing to mask in %s: the command saw it\n",
                r->run.unmasked.at[i]);
    if (!r->run.env.nremoved || r->how != REPORT_TEXT)
        return;
    fprintf(stderr, "buckle: variables not passed on:");
    for (size_t i = 0; i < r->run.env.nremoved; i++)
        fprintf(stderr, " %s", r->run.env.removed[i]);
    fprintf(stderr, " (--env NAME keeps one)\n");
}

/* ---- preparing ---- */

static int asked_caps(const struct cli_args *args, uint64_t *set, struct bk_err *err)
{
    const char *name;
    for (size_t i = 0; (name = args_nth(args, "cap", i)); i++) {
        const struct cap *c = cap_find(name);
        if (!c) {
            err_set(err, BK_E_INPUT, "--cap: unknown capability %s", name);
            err_hint(err, "capabilities(7) lists them; for example chown");
            return -1;
        }
        *set |= cap_bit(c);
    }
    return 0;
}

static int choose_limits(struct invocation *r, struct bk_err *err)
{
    const char *timeout = args_value(r->args, "timeout"), *procs = args_value(r->args, "max-procs");
    const char *memory = args_value(r->args, "max-memory");
    uint64_t seconds = 0, nprocs = 0;
    if ((timeout && args_amount("timeout", timeout, UINT32_MAX / 1000, &seconds, err) < 0) ||
        (procs && args_amount("max-procs", procs, UINT32_MAX, &nprocs, err) < 0) ||
        (memory &&
         args_amount("max-memory", memory, INT64_MAX, &r->spec.launch.max_memory, err) < 0))
        return -1;
    r->spec.launch.timeout_ms = (uint32_t)seconds * 1000;
    r->spec.launch.max_procs = (uint32_t)nprocs;
    return 0;
}

static int choose_asking(struct invocation *r, struct bk_err *err)
{
    const char *timeout = args_value(r->args, "ask-timeout");
    uint64_t seconds = 0;
    if (timeout && args_amount("ask-timeout", timeout, UINT32_MAX / 1000, &seconds, err) < 0)
        return -1;
    r->spec.launch.ask_ms = (uint32_t)seconds * 1000;
    r->spec.launch.on_question = args_has(r->args, "ask") ? run_ask_question : NULL;
    r->spec.launch.on_protected = r->spec.launch.on_question;
    r->spec.asks = args_has(r->args, "ask-session") ? "session" : "terminal";
    if (args_has(r->args, "ask-session"))
        r->spec.launch.on_protected = session_question;
    if (args_has(r->args, "ask-session") && r->live.asks)
        r->spec.launch.on_question = session_question;
    return 0;
}

/* A name that leads elsewhere now may be the work of an earlier command there. */
static int choose_root(struct invocation *r, const char *root, struct bk_err *err)
{
    struct stat st;
    char found[PATH_MAX];
    memcpy(r->start, r->cwd, sizeof(r->start));
    if (!realpath(root, found) || stat(found, &st) < 0)
        return err_sys(err, "--root %s", root);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, BK_E_INPUT, "--root %s: not a directory", root);
    if (root[0] == '/' && strcmp(root, found) != 0) {
        err_set(err, BK_E_INPUT, "--root %s: this path leads to %s", root, found);
        err_hint(err, "give that path instead");
        return -1;
    }
    memcpy(r->cwd, found, sizeof(r->cwd));
    r->spec.launch.start = r->start;
    return 0;
}

/* As real paths: mounts for the sandbox are found by them. */
static int choose_folders(struct invocation *r, struct bk_err *err)
{
    const char *cd = args_value(r->args, "cd"), *tmpdir = args_value(r->args, "tmpdir");
    const char *root = args_value(r->args, "root");
    if (root && choose_root(r, root, err) < 0)
        return -1;
    if (cd && !realpath(cd, r->start))
        return err_sys(err, "--cd %s", cd);
    if (tmpdir && mkdir(tmpdir, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "--tmpdir %s", tmpdir);
    if (tmpdir && !realpath(tmpdir, r->tmpdir))
        return err_sys(err, "--tmpdir %s", tmpdir);
    r->spec.launch.start = cd || root ? r->start : NULL;
    r->spec.tmpdir = tmpdir ? r->tmpdir : NULL;
    return 0;
}

static int choose_kept(struct invocation *r, struct bk_err *err)
{
    size_t nenv = args_count(r->args, "env"), nfds = args_count(r->args, "keep-fd");
    size_t nkeep = r->flags.nkeep;
    r->keep_env = calloc(nenv + nkeep + 1, sizeof(*r->keep_env));
    r->keep_fds = calloc(nfds + 2, sizeof(*r->keep_fds));
    if (!r->keep_env || !r->keep_fds)
        return err_nomem(err);
    for (size_t i = 0; i < nenv; i++)
        r->keep_env[i] = args_nth(r->args, "env", i);
    for (size_t i = 0; i < nkeep; i++)
        r->keep_env[nenv + i] = r->flags.keep[i];
    for (size_t i = 0; i < nfds; i++) {
        uint64_t fd;
        if (args_amount("keep-fd", args_nth(r->args, "keep-fd", i), 65535, &fd, err) < 0)
            return -1;
        r->keep_fds[i] = (int)fd;
    }
    r->spec.keep_env = r->keep_env;
    r->spec.nkeep_env = nenv + nkeep;
    r->spec.private_places = !args_has(r->args, "profile");
    r->spec.nopened = args_count(r->args, "allow-write");
    r->opened = calloc(r->spec.nopened + 1, sizeof(*r->opened));
    if (!r->opened)
        return err_nomem(err);
    for (size_t i = 0; i < r->spec.nopened; i++)
        r->opened[i] = args_nth(r->args, "allow-write", i);
    r->spec.opened = r->opened;
    r->spec.launch.keep_fds = r->keep_fds;
    r->spec.launch.nkeep = nfds;
    if (r->live.folder_of && end_folder_begin(&r->ended, r->args->pos, r->args->npos) == 0)
        r->keep_fds[r->spec.launch.nkeep++] = END_FOLDER_FD;
    return 0;
}

static void report_policy(void *arg, const struct sbpl_unit *unit, const struct bk_err *err)
{
    (void)arg;
    run_complain(unit, err);
}

static void on_input(void *arg)
{
    struct invocation *r = arg;
    live_handle_input(&r->live);
}

/* Variables of flags come first, and win. */
static int add_variables(struct invocation *r, struct bk_err *err)
{
    size_t n = r->flags.nset, more = r->spec.nset_env, named = r->world_name[0] != 0;
    r->set_env = calloc(n + more + 2, sizeof(*r->set_env));
    if (!r->set_env)
        return err_nomem(err);
    for (size_t i = 0; i < n + more; i++)
        r->set_env[i + named] = i < n ? r->flags.set[i] : r->spec.set_env[i - n];
    if (named)
        r->set_env[0] = r->world_name;
    r->spec.set_env = r->set_env;
    r->spec.nset_env = n + more + named;
    return 0;
}

/* Paths that stay real in a world, of which only `buckle try` has an option. */
static int choose_real(struct invocation *r, struct bk_err *err)
{
    size_t n = r->world ? args_count(r->args, "real") : 0;
    r->real = calloc(n + 1, sizeof(*r->real));
    if (!r->real)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const char *given = args_nth(r->args, "real", i);
        r->real[i] = realpath(given, NULL);
        if (!r->real[i])
            return err_sys(err, "--real: %s", given);
    }
    r->spec.launch.world_real = (const char *const *)r->real;
    r->spec.launch.nworld_real = n;
    return 0;
}

/* Whether the walls may decide what is written to the world: nobody wants a list of what was
 * denied, and nothing real can be written. Sessions show denials to their agents. */
static bool leaves_world_to_walls(const struct invocation *r)
{
    static const char *const listing[] = {"verbose", "annotate", "learn-denied",
                                          "ask",     "title",    "ask-session",
                                          "session", "real",     "tmpdir"};
    const char *report = args_value(r->args, "report");
    if (!r->world || r->observer || r->spec.record.path || (report && strcmp(report, "none") != 0))
        return false;
    for (size_t i = 0; i < sizeof(listing) / sizeof(listing[0]); i++)
        if (args_has(r->args, listing[i]))
            return false;
    return true;
}

/* A program can tell that nothing it writes is real yet. */
static void name_world(struct invocation *r)
{
    const char *world = r->spec.launch.world, *id = world ? strrchr(world, '/') : NULL;
    if (id && id[1])
        snprintf(r->world_name, sizeof(r->world_name), "BUCKLE_WORLD=%.20s", id + 1);
}

static int join(struct invocation *r, struct bk_err *err)
{
    if (args_has(r->args, "session") && session_join(r, err) < 0)
        return -1;
    if (!args_has(r->args, "session") && args_has(r->args, "folder-of"))
        session_join_inner(r);
    if (r->world && r->live.world[0])
        return err_set(err, BK_E_INPUT, "the session has a world already; leave one of both out");
    if (args_has(r->args, "session-world") && !r->live.world[0])
        return err_set(err, BK_E_INPUT,
                       "the session has no world, so the command could change real files");
    live_link(&r->live);
    spare_note_grants(&r->spare, &r->flags.rules, &r->flags.links);
    return 0;
}

int invocation_fill(struct invocation *r, struct bk_err *err)
{
    r->spec = (struct run_spec){
        .launch.argv = (char *const *)r->args->pos,
        .launch.cwd = r->cwd,
        .plan.updatable = args_has(r->args, "updatable"),
        .plan.grantable = args_has(r->args, "grantable"),
        .plan.watch_net = args_has(r->args, "watch-net") || args_has(r->args, "learn-denied"),
        .launch.late_names = args_has(r->args, "late-names") || args_has(r->args, "learn-denied"),
        .plan.accept_weaker = args_has(r->args, "accept-weaker"),
        .plan.keep_userns = args_has(r->args, "allow-userns"),
        .plan.perf = args_has(r->args, "allow-perf"),
        .plan.core_dumps = args_has(r->args, "core-dumps"),
        .plan.strict_reads = args_has(r->args, "strict-reads"),
        .upstream = args_value(r->args, "upstream"),
        .launch.wait_all = r->stays || args_has(r->args, "wait"),
        .launch.prepared = args_has(r->args, "shared-tmp") || args_has(r->args, "profile")
                               ? NULL
                               : run_usual_layers,
        /* We end right after the command. But a container's PID 1 would inherit what we leave
         * behind, and may take its end for ours (firejail does). A spare is not waited for. */
        .launch.leave_judge = getppid() != 1 || r->spare.holds,
        .launch.give_stdio = !r->observer,
        .debug = debug_line,
        .warn = run_warn,
        .command_text = args_value(r->args, "command-text"),
        .like = r->like,
        .launch.on_held = r->spare.holds ? invocation_held : NULL,
        .launch.on_start = r->spare.holds ? invocation_started : NULL,
        .launch.on_event = on_event,
        .complain = report_policy,
        .launch.on_input = on_input,
        .launch.arg = r,
    };
    r->spec.launch.world = r->world;
    if (!getcwd(r->cwd, sizeof(r->cwd)))
        return err_sys(err, "cannot find the working directory");
    if (choose_folders(r, err) < 0)
        return -1;
    if (!r->like && join(r, err) < 0)
        return -1;
    session_use(r);
    name_world(r);
    if (choose_real(r, err) < 0)
        return -1;
    if (asked_caps(r->args, &r->spec.plan.caps, err) < 0 || choose_limits(r, err) < 0 ||
        choose_asking(r, err) < 0 || run_flags_read(&r->flags, r->args, &r->spec, err) < 0 ||
        stack_flags_read(&r->stack, r->args, &r->spec, err) < 0 || choose_kept(r, err) < 0)
        return -1;
    r->settings.profile = r->flags.profile;
    r->settings.rules = r->flags.made;
    if (r->observer) {
        r->settings.texts = r->observer->texts;
        r->settings.ntexts = r->observer->ntexts;
    }
    if (watch_check(&r->watch, r->args, err) < 0 ||
        record_flags_read(r->args, r->record, &r->spec, err) < 0 ||
        run_settings_read(&r->settings, r->args, &r->spec, err) < 0 ||
        record_flags_check(r->args, &r->spec, &r->settings.now->result, err) < 0)
        return -1;
    r->spec.plan.unjudged = leaves_world_to_walls(r);
    return add_variables(r, err);
}

/* ---- running ---- */

/* What was denied, by which rules, and what would allow it. */
static void summarise(struct invocation *r, const struct report_end *how, struct buf *out)
{
    struct policies policies = run_policies(&r->run);
    if (run_settings_found(&r->settings) || run_has_presets(r->args))
        run_presets_suggest(&r->settings.request, r->settings.now, &r->settings.arena, r->report);
    report_summary(r->report, &policies, how, out);
    run_left_out(r->report, &policies, out);
}

static void __attribute__((noreturn)) finish(struct invocation *r, const struct launch_end *end)
{
    struct buf summary = {0}, hint = {0};
    uint64_t denied = r->report ? report_total(r->report) : 0;
    bool hopeless = r->how == REPORT_TEXT && end->status &&
                    ((!r->spec.plan.perf && program_hint(r->spec.launch.argv, &hint)) ||
                     program_mounts_hint(&r->mounts, "buckle", &hint));
    if (spare_is_unused(&r->spare))
        spare_end(&r->spare, 0);
    if (r->live.left)
        _exit(0); /* the last background process has ended */
    session_report_folder(r);
    live_leave(&r->live);
    if (args_has(r->args, "annotate")) {
        live_annotate(&r->live, &summary);
    } else if (r->how == REPORT_TEXT && denied) {
        struct report_end how = {.failed = end->status != 0, .no_flags = hopeless};
        summarise(r, &how, &summary);
    }
    exit_write(STDERR_FILENO, &summary);
    exit_write(STDERR_FILENO, &hint);
    if (r->verbose || end->status != 0 || denied)
        report_removed(r);
    if (denied && r->how == REPORT_TEXT)
        run_settings_warn(&r->settings);
    if (end->timed_out)
        fprintf(stderr, "buckle: the command exceeded its time limit\n");
    spare_end(&r->spare, end->timed_out ? 124 << 8 : end->status);
    invocation_next_spare(r);
    int other = r->observer ? r->observer->on_end(r->observer->arg, r) : 0;
    run_clean(&r->run);
    int status = other ? other : exit_as(end);
    /* The kernel frees the rest faster than we could. */
    fflush(NULL);
    _exit(status);
}

static int failed(struct invocation *r, const struct launch_end *end, const struct bk_err *err)
{
    OWN(buf) struct buf summary = {0};
    bool told = end->step == STEP_POLICY || spare_is_unused(&r->spare);
    if (!told) /* already reported, or nobody's */
        cli_fail(err);
    if (!told && end->step == STEP_EXEC && r->report && report_total(r->report)) {
        if (args_has(r->args, "annotate"))
            live_annotate(&r->live, &summary);
        else if (r->how == REPORT_TEXT)
            summarise(r, &(struct report_end){.failed = true}, &summary);
        exit_write(STDERR_FILENO, &summary);
    }
    /* as shells and env(1) do */
    return end->step == STEP_EXEC ? (end->sys == ENOENT ? 127 : 126) : FAILED;
}

static int dry_run(struct invocation *r)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    if (run_policy_compile(&r->run.policy, &err) < 0)
        return run_complain(&r->run.policy.unit, &err), FAILED;
    if (run_print_plan(&r->run, args_has(r->args, "json"), &out, &err) < 0)
        return cli_fail(&err);
    return cli_emit(&out, CLI_OK);
}

static int run_all(struct invocation *r)
{
    struct bk_err err;
    struct launch_end end = {0};
    bool dry = args_has(r->args, "dry-run");
    session_begin_staying(r);
    if (choose_report(r, &err) < 0 || invocation_spare(r, &err) < 0 ||
        invocation_fill(r, &err) < 0 || invocation_check_place(r, &err) < 0)
        return cli_fail(&err), FAILED;
    r->spec.launch.on_exit = r->stays ? session_command_exit : NULL;
    if (run_open(&r->run, &r->spec, dry, &err) < 0)
        return run_complain(&r->run.policy.unit, &err), FAILED;
    if (r->how != REPORT_NONE && !r->spare.holds)
        run_presets_announce(r->settings.now);
    if (dry)
        return dry_run(r);
    live_open(&r->live, &r->run, &r->spec);
    r->watch.quiet = r->how == REPORT_NONE;
    if (r->spare.holds && spare_open(&r->spare, &r->spec, &err) < 0)
        return cli_fail(&err), FAILED;
    if (!r->spare.holds)
        watch_begin(&r->watch, &r->settings, &r->live);
    r->spec.launch.input_fd = r->live.fd_watch.fd;
    int went = run_go(&r->run, &end, &err);
    run_ask_end(r);
    title_end(&r->title);
    if (went < 0) {
        int status = failed(r, &end, &err);
        spare_end(&r->spare, status << 8);
        return status;
    }
    finish(r, &end);
}

int run_command(struct cli_args *args, const char *world)
{
    return run_command_observed(args, world, NULL);
}

int run_command_observed(struct cli_args *args, const char *world,
                         const struct run_observer *observer)
{
    if (args->npos == 0 && !args_has(args, "dry-run"))
        return cli_usage(args, "no command given");
    struct invocation *r = calloc(1, sizeof(*r));
    int status;
    if (!r)
        return CLI_ERROR;
    r->args = args;
    r->world = world;
    r->observer = observer;
    if (!world && !observer && invocation_take_spare(r, &status))
        return free(r), status;
    debug_start(args_has(args, "debug") ? "buckle: debug:" : NULL);
    status = run_all(r);
    watch_end(&r->watch);
    live_close(&r->live);
    invocation_free(r);
    return status;
}

static int run_main(struct cli_args *args)
{
    struct learner l = {.to = args_value(args, "learn-denied"), .from_denials = true};
    struct bk_err err;
    int traced;
    if (tracing_run(args, &traced))
        return traced;
    if (!l.to)
        return run_command(args, NULL);
    if (learner_init(&l, &err) < 0)
        return cli_fail(&err), FAILED;
    int status = run_command_observed(args, NULL, &l.observer);
    learner_free(&l);
    return status;
}

const struct cli_command cmd_run = {
    .name = "run",
    .usage = "[OPTION…] [--] COMMAND [ARGUMENT…]",
    .brief = "run a command in a sandbox",
    .about =
        "Runs COMMAND and everything it starts in a sandbox. By default it can read everything\n"
        "you can, except known secret stores, write to the working directory and a private\n"
        "TMPDIR, and reach no network. Prints nothing if nothing is denied; otherwise a final\n"
        "summary names each denied operation, the rule that denied it and the flag that would\n"
        "allow it.\n"
        "\n"
        "Classes for --allow-protected:\n"
#define PROTECTED_CLASS(id, name, brief) "    " name ": " brief "\n"
#include "vocab/protected-classes.def"
#undef PROTECTED_CLASS
        "\n"
        "Names for --allow-socket:\n"
#define SOCKET(name, paths, keeps, sets, words) "    " name ": " words "\n"
#include "run/sockets.def"
        "\n"
        "Exit status: the command's; 124 after --timeout; 125 if the sandbox could not be set up;\n"
        "126 if the command could not be run, 127 if it was not found.",
    .options = run_options,
    .complete = "command",
    .takes_command = true,
    .run = run_main,
};
