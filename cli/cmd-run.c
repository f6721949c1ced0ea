/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle run`: flags → SBPL → graph → plan → launch → summary. Everything a flag says about policy
 * becomes SBPL text first, so that --dry-run, the report and `buckle explain` speak of the same
 * rules.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args.h"
#include "base/own.h"
#include "kernel/caps.h"
#include "kernel/cgroup.h"
#include "kernel/environ.h"
#include "kernel/ground.h"
#include "kernel/launch.h"
#include "kernel/scratch.h"
#include "net/upstream.h"
#include "load.h"
#include "run-profile.h"

extern char **environ;

static const char cap_words[] =
#define CAP(name, number, kind, words) #name " "
#define LIFTS(cap, call)
#include "kernel/caps.def"
    ;

/* clang-format off */
static const struct cli_option options[] = {
    {"profile", 0, "FILE|NAME", "use this profile instead of default", "file"},
    {"define", 'D', "KEY=VALUE", "set a parameter, which (param \"KEY\") reads", NULL},
    {"allow-write", 'w', "PATH", "allow writing to PATH and below; a glob allows what it matches", "file"},
    {"deny-write", 0, "PATH", "deny writing to PATH and below, or to what a glob matches", "file"},
    {"allow-read", 'r', "PATH", "allow reading PATH and below, or what a glob matches", "file"},
    {"deny-read", 0, "PATH", "deny reading the contents of PATH and below, or of what a glob matches", "file"},
    {"allow-net", 'N', "HOST[:PORT]", "allow connections to HOST: a name, *.name, an address, a range",
     NULL},
    {"deny-net", 0, "HOST[:PORT]", "deny connections to HOST; wins over --allow-net", NULL},
    {"upstream", 0, "URL", "connect through this proxy: http://HOST:PORT or socks5://HOST:PORT", NULL},
    {"here", 0, NULL, "run even in / or the home directory", NULL},
    {"dry-run", 'n', NULL, "print how the policy would be enforced, and stop", NULL},
    {"report", 0, "HOW", "text, json, none or fd:N: where denied operations are told", "text json none"},
    {"json", 0, NULL, "with --dry-run: print the plan as JSON", NULL},
    {"verbose", 'v', NULL, "tell of each denied operation as it happens", NULL},
    {"env", 'e', "NAME", "keep this variable although its name looks like a secret", NULL},
    {"keep-fd", 0, "N", "let the command inherit descriptor N", NULL},
    {"timeout", 't', "SECONDS", "end the command after this long (exit status 124)", NULL},
    {"max-procs", 0, "N", "limit on processes of this user inside", NULL},
    {"max-memory", 0, "SIZE", "limit on each process's memory: 512M, 2G", NULL},
    {"wait", 0, NULL, "let background processes finish before ending", NULL},
    {"strict-reads", 0, NULL, "judge reading where a sentry would do: exact at every moment, and slow", NULL},
    {"updatable", 0, NULL, "judge everything, so that the policy could change while it runs", NULL},
    {"accept-weaker", 0, NULL, "go on where this host cannot enforce part of the policy", NULL},
    {"cap", 0, "NAME", "as root: let the command keep this capability", cap_words},
    {"allow-userns", 0, NULL, "let programs inside make user namespaces of their own", NULL},
    {0},
};
/* clang-format on */

enum report_how { REPORT_TEXT, REPORT_JSON, REPORT_NONE };

struct run {
    struct cli_args *args;
    struct host host;
    struct run_profile profile;
    struct plan_options options;
    struct plan plan;
    struct scratch scratch;
    struct cgroup cgroup;
    struct ground ground;
    struct arena arena;
    struct environ_result env;
    struct upstream upstream;
    struct report *report;
    enum report_how how;
    int report_fd;
    bool verbose;
    char cwd[PATH_MAX];
};

/* ---- numbers and places ---- */

static int parse_count(const char *name, const char *text, uint64_t max, uint64_t *out,
                       struct bk_err *err)
{
    char *end;
    errno = 0;
    unsigned long long v = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || errno)
        return err_set(err, BK_E_INPUT, "--%s: %s is not a number", name, text);
    const char *units = "KMGT", *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (unit) {
        int shift = (int)(unit - units + 1) * 10;
        if (v > (max >> shift))
            return err_set(err, BK_E_INPUT, "--%s: %s is too large", name, text);
        v <<= shift;
        end++;
    }
    if (*end || v == 0 || v > max)
        return err_set(err, BK_E_INPUT, "--%s: %s is not a number it takes", name, text);
    *out = v;
    return 0;
}

/* The folder that the command may change must not be everything one has. */
static int check_place(struct run *r, struct bk_err *err)
{
    char home[PATH_MAX];
    if (!getcwd(r->cwd, sizeof(r->cwd)))
        return err_sys(err, "cannot tell the working directory");
    if (args_has(r->args, "here") || args_has(r->args, "profile"))
        return 0;
    const char *named = getenv("HOME");
    bool at_home = named && realpath(named, home) && strcmp(home, r->cwd) == 0;
    if (!at_home && strcmp(r->cwd, "/") != 0)
        return 0;
    err_set(err, BK_E_INPUT, "%s is %s: the command could write to all of it", r->cwd,
            at_home ? "your home directory" : "the root directory");
    err_hint(err, "go to a project's folder first, or say --here");
    return -1;
}

static int choose_report(struct run *r, struct bk_err *err)
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
    if (strncmp(how, "fd:", 3) == 0 && parse_count("report", how + 3, 1023, &fd, err) < 0)
        return -1;
    if (strncmp(how, "fd:", 3) != 0 && strcmp(how, "json") != 0)
        return err_set(err, BK_E_INPUT, "--report: %s is none of text, json, none, fd:N", how);
    r->report_fd = (int)fd;
    /* what the command could write to would not be believed */
    if (fd > STDERR_FILENO && fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_sys(err, "--report: descriptor %d", (int)fd);
    return 0;
}

/* ---- telling ---- */

static void write_out(int fd, struct buf *b)
{
    for (size_t at = 0; buf_ok(b) && at < b->n;) {
        ssize_t n = write(fd, b->s + at, b->n - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    buf_free(b);
}

/* The worker has compiled the profile for itself; out here it is only needed to word a report. That
 * fails when memory is short, and then the rule's name is missing. */
static const struct graph *graph_to_report(struct run *r)
{
    struct bk_err err;
    return run_profile_compile(&r->profile, &err) == 0 ? r->profile.graph : NULL;
}

static void on_event(void *arg, const struct event *e)
{
    struct run *r = arg;
    struct buf line = {0};
    if (!r->report)
        r->report = report_new(0);
    if (r->report)
        report_add(r->report, e);
    if (r->how == REPORT_JSON) {
        event_json(e, graph_to_report(r), NULL, &line);
        buf_chr(&line, '\n');
    } else if (r->how == REPORT_TEXT && r->verbose) {
        buf_str(&line, "buckle: ");
        event_line(e, &line);
        buf_chr(&line, '\n');
    }
    write_out(r->report_fd, &line);
}

/* A program that misses a variable fails in its own words; this line says why. It is not worth
 * breaking the silence of a run that went well. */
static void tell_removed(const struct run *r)
{
    if (!r->env.nremoved || r->how != REPORT_TEXT)
        return;
    fprintf(stderr, "buckle: not passed on:");
    for (size_t i = 0; i < r->env.nremoved; i++)
        fprintf(stderr, " %s", r->env.removed[i]);
    fprintf(stderr, " (--env NAME keeps one)\n");
}

/* ---- preparing ---- */

static int prepare_env(struct run *r, struct bk_err *err)
{
    size_t nkeep = args_count(r->args, "env");
    const char **keep = arena_array(&r->arena, nkeep + 1, sizeof(*keep));
    /* tmux and whoever keeps sockets in the session's folder would look for a place elsewhere */
    static const char *const places[] = {"TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"};
    enum { PLACES = sizeof(places) / sizeof(places[0]) };
    const char *set[PLACES + 2] = {[PLACES] = "SANDBOX_RUNTIME=1"};
    for (size_t i = 0; i < PLACES; i++) {
        char text[300];
        snprintf(text, sizeof(text), "%s=%s", places[i], r->scratch.path);
        set[i] = arena_strndup(&r->arena, text, strlen(text));
    }
    if (!keep || !set[0] || !set[1] || !set[2])
        return err_nomem(err);
    for (size_t i = 0; i < nkeep; i++)
        keep[i] = args_nth(r->args, "env", i);
    return environ_make(environ, keep, nkeep, set, &r->arena, &r->env) < 0 ? err_nomem(err) : 0;
}

static int asked_caps(const struct cli_args *args, uint64_t *set, struct bk_err *err)
{
    const char *name;
    for (size_t i = 0; (name = args_nth(args, "cap", i)); i++) {
        const struct cap *c = cap_find(name);
        if (!c) {
            err_set(err, BK_E_INPUT, "--cap: no capability is called %s", name);
            err_hint(err, "capabilities(7) lists them; chown, for instance");
            return -1;
        }
        *set |= cap_bit(c);
    }
    return 0;
}

static int choose_options(struct run *r, struct bk_err *err)
{
    r->options = (struct plan_options){.updatable = args_has(r->args, "updatable"),
                                       .accept_weaker = args_has(r->args, "accept-weaker"),
                                       .keep_userns = args_has(r->args, "allow-userns"),
                                       .strict_reads = args_has(r->args, "strict-reads"),
                                       .cwd = r->cwd,
                                       .arch = PLAN_NATIVE};
    return asked_caps(r->args, &r->options.caps, err);
}

/* In the worker's process. What is wrong is told from there: the controller has no copy of it. */
static int prepare(void *arg, struct launch_policy *out)
{
    struct run *r = arg;
    struct bk_err err;
    r->profile.unit.opt.terse = true;
    if (run_profile_compile(&r->profile, &err) < 0) {
        run_profile_complain(&r->profile, &err);
        return -1;
    }
    r->options.terse = true;
    if (plan_make(r->profile.graph, &r->options, &r->host, &r->plan, &err) < 0) {
        cli_fail(&err);
        return -1;
    }
    if (args_has(r->args, "upstream") && !r->plan.net_ns) {
        err_set(&err, BK_E_INPUT,
                "--upstream: the network is not filtered, so nothing leads there");
        err_hint(&err, "a profile that allows single hosts is, or one that says --deny-net too");
        cli_fail(&err);
        return -1;
    }
    *out = (struct launch_policy){&r->plan, r->profile.graph};
    return 0;
}

static int meanwhile(void *arg, struct bk_err *err)
{
    struct run *r = arg;
    return r->scratch.lock >= 0 ? 0 : scratch_make(&r->scratch, err);
}

static int fill_launch(struct run *r, struct launch *l, struct bk_err *err)
{
    const char *timeout = args_value(r->args, "timeout"), *procs = args_value(r->args, "max-procs");
    const char *memory = args_value(r->args, "max-memory");
    const char *upstream = args_value(r->args, "upstream");
    uint64_t seconds = 0, nprocs = 0;
    if ((timeout && parse_count("timeout", timeout, UINT32_MAX / 1000, &seconds, err) < 0) ||
        (procs && parse_count("max-procs", procs, UINT32_MAX, &nprocs, err) < 0) ||
        (memory && parse_count("max-memory", memory, INT64_MAX, &l->max_memory, err) < 0))
        return -1;
    if (upstream && upstream_parse(upstream, &r->upstream, err) < 0)
        return -1;
    l->upstream = upstream ? &r->upstream : NULL;
    l->timeout_ms = (uint32_t)seconds * 1000;
    l->max_procs = (uint32_t)nprocs;
    /* the sandbox as a whole where a control group can be had, else each process */
    if ((l->max_memory || nprocs) && cgroup_make(&r->cgroup, l->max_memory, l->max_procs))
        l->max_memory = l->max_procs = 0;
    l->cgroup = r->cgroup.fd;
    l->wait_all = args_has(r->args, "wait");
    l->give_stdio = true;
    /* We end right after it. But a container's first process would inherit what we leave behind,
     * and may take its end for ours (firejail does). */
    l->leave_worker = getppid() != 1;
    l->nkeep = args_count(r->args, "keep-fd");
    int *keep = arena_array(&r->arena, l->nkeep + 1, sizeof(*keep));
    if (!keep)
        return err_nomem(err);
    for (size_t i = 0; i < l->nkeep; i++) {
        uint64_t fd;
        if (parse_count("keep-fd", args_nth(r->args, "keep-fd", i), 65535, &fd, err) < 0)
            return -1;
        keep[i] = (int)fd;
    }
    l->keep_fds = keep;
    l->host = &r->host;
    l->ground = &r->ground;
    l->prepare = prepare;
    l->meanwhile = meanwhile;
    l->argv = (char *const *)r->args->pos;
    l->env = r->env.env;
    l->cwd = r->cwd;
    l->on_event = on_event;
    l->arg = r;
    return 0;
}

/* ---- running ---- */

/* An ability that the quick look took for granted and the launch found missing. */
static bool learn(struct host *h, const struct launch_end *end)
{
    /* a plain chroot, whose root is no mount of its own */
    if (end->stage == STAGE_PRIVATE_MOUNTS && h->mount_ns)
        return h->mount_ns = false, true;
    if (end->stage == STAGE_MOUNT_PROC && h->mount_proc)
        return h->mount_proc = false, true;
    /* no FUSE, or too few descriptors to serve it */
    bool unserved = end->stage == STAGE_SENTRY && end->sys == EMFILE;
    if ((end->stage == STAGE_SENTRY_MOUNT || unserved) && h->fuse)
        return h->fuse = false, true;
    bool spaces = end->stage == STAGE_NAMESPACES || end->stage == STAGE_MAP_IDS;
    bool refused = end->sys != ENOMEM && end->sys != EAGAIN;
    if (spaces && refused && !host_may_administer(h) && h->user_ns)
        return h->user_ns = false, true;
    /* a filter refuses them to root as well; which of them does not matter */
    if (spaces && refused && host_may_administer(h) && h->mount_ns) {
        h->user_ns = h->mount_ns = h->pid_ns = h->net_ns = h->ipc_ns = h->uts_ns = false;
        return true;
    }
    bool listener = end->sys == EBUSY || end->sys == EPERM;
    if (end->stage == STAGE_FILTER && listener && !h->listener_taken)
        return h->listener_taken = true, true;
    return false;
}

static int run_planned(struct run *r, struct launch_end *end, struct bk_err *err)
{
    struct launch l = {0};
    if (fill_launch(r, &l, err) < 0)
        return -1;
    for (;;) {
        int result = launch_run(&l, end, err);
        if (result == 0 || !learn(&r->host, end))
            return result;
    }
}

/* Ends as the command ended, so that nobody can tell the difference. */
static int mirror(const struct launch_end *end)
{
    if (end->timed_out)
        return 124;
    if (WIFEXITED(end->status))
        return WEXITSTATUS(end->status);
    int sig = WTERMSIG(end->status);
    struct rlimit none = {0, 0};
    sigset_t one;
    setrlimit(RLIMIT_CORE, &none); /* one core is enough */
    signal(sig, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    return 128 + sig;
}

static void __attribute__((noreturn)) finish(struct run *r, const struct launch_end *end)
{
    struct buf summary = {0};
    uint64_t denied = r->report ? report_total(r->report) : 0;
    if (r->how == REPORT_TEXT && denied)
        report_summary(r->report, graph_to_report(r), &summary);
    write_out(STDERR_FILENO, &summary);
    if (r->verbose || end->status != 0 || denied)
        tell_removed(r);
    if (end->timed_out)
        fprintf(stderr, "buckle: the command was ended after its time limit\n");
    if (!scratch_remove_empty(&r->scratch)) {
        ground_end(&r->ground); /* who could still move things about in there */
        scratch_remove(&r->scratch);
    }
    cgroup_remove(&r->cgroup);
    int status = mirror(end);
    /* Whatever is left belongs to the kernel, which gives it back faster than we could. */
    fflush(NULL);
    _exit(status);
}

static int failed(const struct launch_end *end, const struct bk_err *err)
{
    if (end->stage != STAGE_POLICY) /* that was told already */
        cli_fail(err);
    /* as shells and env(1) do */
    return end->stage == STAGE_EXEC ? (end->sys == ENOENT ? 127 : 126) : 125;
}

static int dry_run(struct run *r, struct bk_err *err)
{
    struct buf out = {0};
    if (plan_make(r->profile.graph, &r->options, &r->host, &r->plan, err) < 0)
        return cli_fail(err);
    if (args_has(r->args, "json"))
        plan_print_json(&r->plan, r->profile.graph, &out);
    else
        plan_print_text(&r->plan, r->profile.graph, &out);
    return cli_emit(&out, CLI_OK);
}

/* What this host can do, or is to be taken for. */
static int look_at_host(struct run *r, struct bk_err *err)
{
    const char *pretend = getenv("BUCKLE_PRETEND");
    /* a plan that is to be read can wait for the truth; a launch finds it out as it goes */
    if (!args_has(r->args, "dry-run"))
        host_quick(&r->host);
    else if (host_probe(&r->host, err) < 0)
        return -1;
    return pretend ? host_pretend(&r->host, pretend, err) : 0;
}

static int run_all(struct run *r)
{
    struct bk_err err;
    struct launch_end end = {0};
    bool dry = args_has(r->args, "dry-run");
    if (check_place(r, &err) < 0 || choose_report(r, &err) < 0 || choose_options(r, &err) < 0 ||
        look_at_host(r, &err) < 0)
        return cli_fail(&err), 125;
    if (scratch_name(&r->scratch, &err) < 0)
        return cli_fail(&err), 125;
    /* A file could be another one when it is read again, and the command may be able to write it.
     */
    if (run_profile_gather(&r->profile, r->args, r->cwd, r->scratch.path, &err) < 0)
        return run_profile_complain(&r->profile, &err), 125;
    if (!dry && !r->profile.shipped) /* laid meanwhile */
        ground_start(&r->ground, &r->host, r->cwd);
    if ((dry || !r->profile.shipped) && run_profile_compile(&r->profile, &err) < 0)
        return run_profile_complain(&r->profile, &err), 125;
    if (dry)
        return dry_run(r, &err);
    if (prepare_env(r, &err) < 0)
        return cli_fail(&err), 125;
    if (run_planned(r, &end, &err) < 0)
        return failed(&end, &err);
    finish(r, &end);
}

static int cmd_run_main(struct cli_args *args)
{
    if (args->npos == 0 && !args_has(args, "dry-run"))
        return cli_usage(args, "which command?");
    struct run *r = calloc(1, sizeof(*r));
    if (!r)
        return CLI_ERROR;
    r->args = args;
    r->scratch.lock = -1;
    r->cgroup.fd = -1;
    r->ground.pidfd = r->ground.ready = -1;
    arena_init(&r->arena, 64 << 20);
    int status = run_all(r);
    ground_end(&r->ground);
    cgroup_remove(&r->cgroup);
    scratch_remove(&r->scratch);
    plan_free(&r->plan);
    report_free(r->report);
    run_profile_free(&r->profile);
    arena_free(&r->arena);
    free(r);
    return status;
}

const struct cli_command cmd_run = {
    .name = "run",
    .usage = "[OPTION…] [--] COMMAND [ARGUMENT…]",
    .brief = "run a command under a policy",
    .about =
        "Runs COMMAND, and everything it starts, under a policy: by default it may read all but\n"
        "places of secrets, write to the working directory and to a TMPDIR of its own, and reach\n"
        "no network. Prints nothing when nothing is denied; otherwise a summary at the end names\n"
        "each denied operation, the rule behind it and the flag that would allow it.\n"
        "\n"
        "Exit status: the command's own; 124 after --timeout; 125 when the sandbox could not be\n"
        "set up; 126 and 127 when the command could not be run or found.\n",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = cmd_run_main,
};
