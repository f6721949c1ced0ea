/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The one way to run a command, for every front end, in the order that makes a launch quick. The
 * judge compiles the policy while this process creates the TMPDIR. A policy with files is compiled
 * here first, once: a file could have changed when it is read again, and the command may be able to
 * write it.
 */

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "policy/target.h"
#include "run/leave.h"
#include "run/nest.h"
#include "run/own-rules.h"
#include "run/policy-cache.h"
#include "run/private-places.h"
#include "run/run-int.h"
#include "settings/links.h"

extern char **environ;

const char *const run_usual_layers[LAYERS_PREPARED] = {"/tmp"};

/* ---- preparing ---- */

static int probe_host(struct run *r, bool probe, struct bk_err *err)
{
    const char *pretend = getenv("BUCKLE_PRETEND");
    if (!probe)
        host_quick(&r->host);
    else if (host_probe(&r->host, err) < 0)
        return -1;
    int result = pretend ? host_pretend(&r->host, pretend, err) : 0;
    host_find_disks(&r->host);
    return result;
}

const char *run_tmpdir(const struct run *r)
{
    return r->spec->tmpdir ? r->spec->tmpdir : r->private_tmpdir.path;
}

static void complete_options(struct run *r)
{
    r->options = r->spec->plan;
    r->options.ask = r->spec->launch.on_question != NULL;
    r->options.cwd = r->spec->launch.cwd;
    r->options.arch = PLAN_NATIVE;
}

static int read_mounts(struct run *r, struct bk_err *err)
{
    if (policy_on_macos())
        return 0;
    r->options.mounts = &r->mounts;
    return run_mounts(&r->mounts, r->spec, err);
}

/* Only buckle itself has `buckle connect`; a program that links the library does not. */
static void find_connector(struct run *r)
{
    ssize_t n = readlink("/proc/self/exe", r->connector, sizeof(r->connector) - 1);
    r->connector[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(r->connector, '/');
    if (!slash || strcmp(slash, "/buckle") != 0)
        r->connector[0] = '\0';
}

/* Compiles only if there are any links. Using a wrong policy reports it. */
static int check_links(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    for (size_t i = 0; i < s->nsources; i++) {
        const struct run_source *from = &s->sources[i];
        const struct graph *g = from->nlinks ? run_graph(r) : NULL;
        if (g && links_check(g, from->links, from->nlinks, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether this process already runs in a sandbox of ours: the judge of that one protects Buckle's
 * files, and the kernel allows only one listener. */
static bool is_inside(const struct host *h)
{
    return h->listener_taken && getenv("SANDBOX_RUNTIME");
}

/* The proxies that connections leave through, if the network is filtered. */
static int find_parents(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    struct upstream all;
    if (!s->upstream) {
        r->has_parents = parent_proxies_read(&r->parents, environ) || r->parents.unusable[0];
        return 0;
    }
    if (upstream_parse(s->upstream, &all, err) < 0)
        return -1;
    r->has_parents = true;
    return parent_proxies_set(&r->parents, &all, s->no_proxy) < 0
               ? err_set(err, BK_E_INPUT, "the list of hosts without a proxy is too long")
               : 0;
}

int run_open(struct run *r, const struct run_spec *spec, bool probe, struct bk_err *err)
{
    *r = (struct run){.spec = spec,
                      .private_tmpdir.lock = -1,
                      .cgroup.fd = -1,
                      .init = {.pidfd = -1, .ready = -1},
                      .kept.lock = -1,
                      .channel = -1};
    arena_init(&r->arena, 64 << 20);
    complete_options(r);
    find_connector(r);
    if (probe) /* without probing inside a sandbox of ours, which would report it */
        r->channel = nest_call();
    if (probe_host(r, probe && r->channel < 0, err) < 0)
        return -1;
    if (read_mounts(r, err) < 0) /* the kernel lists none while it copies them */
        return -1;
    /* inside a sandbox of ours, that one's controller does the rest */
    if (!probe && r->host.listener_taken)
        r->channel = nest_call();
    /* this takes longest, and needs nothing of what follows */
    if (!probe && r->channel < 0 && !policy_on_macos() && !spec->may_leave)
        init_start(&r->init, &r->host, spec->launch.cwd, spec->launch.prepared);
    if (spec->private_tmpdir)
        r->private_tmpdir = *spec->private_tmpdir;
    else if (!spec->tmpdir && !spec->bare && tmpdir_name(&r->private_tmpdir, err) < 0)
        return -1;
    if (find_parents(r, err) < 0)
        return -1;
    r->targets.quiet = r->channel >= 0 && getenv("SANDBOX_RUNTIME");
    /* meanwhile init creates its namespaces */
    if (run_policy_link_targets(&r->targets, spec, err) < 0 ||
        (!is_inside(&r->host) && own_rules(spec->launch.cwd, &r->own_rules, err) < 0) ||
        run_policy_gather(&r->policy, spec, run_tmpdir(r), &r->own_rules, err) < 0)
        return -1;
    run_policy_add_link_targets(&r->policy, &r->targets);
    return check_links(r, err);
}

int run_plan(struct run *r, struct bk_err *err)
{
    if (run_policy_compile(&r->policy, err) < 0)
        return -1;
    if (plan_make(r->policy.graph, &r->options, &r->host, &r->plan, err) < 0)
        return -1;
    if (r->outer)
        plan_show_layers(&r->plan, r->outer);
    return 0;
}

/*
 * The judge compiled the policy in its own process, so reports compile it once more here, on the
 * first event that needs a rule. That costs 0.5 ms (default profile, 89 rules), once, and only in a
 * run with a denial or a report. Handing rules over in events would cost more:
 *   - every launch would word its rules in the judge before the command starts: 45 us of the 0.4 ms
 *     that a terse compilation takes, also for the many runs without an event;
 *   - every event would carry up to 300 bytes more: file, line, message, text;
 *   - the summary needs the graph itself: it evaluates the policy to find the shortest flag that
 *     allows an operation (report/summary.c).
 */
const struct graph *run_graph(struct run *r)
{
    struct bk_err err;
    return run_policy_word(&r->policy, &err) == 0 ? r->policy.graph : NULL;
}

static int prepare_env(struct run *r, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    /* tmux and others that keep sockets in the session's folder need a place */
    static const char *const places[] = {"TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"};
    enum { PLACES = sizeof(places) / sizeof(places[0]) };
    const char **set =
        arena_array(&r->arena, PLACES + PRIVATE_PLACES + 1 + s->nset_env + 1, sizeof(*set));
    size_t n = 0;
    if (!set)
        return err_nomem(err);
    for (size_t i = 0; i < PLACES && !s->bare; i++) {
        char text[PATH_MAX + 32];
        int len = snprintf(text, sizeof(text), "%s=%s", places[i], run_tmpdir(r));
        set[n] = arena_strndup(&r->arena, text, (size_t)len);
        if (!set[n++])
            return err_nomem(err);
    }
    int more = s->bare ? 0 : private_places(s, run_tmpdir(r), &r->arena, set + n);
    if (more < 0)
        return err_nomem(err);
    n += (size_t)more;
    if (!s->bare)
        set[n++] = "SANDBOX_RUNTIME=1";
    for (size_t i = 0; i < s->nset_env; i++)
        set[n++] = s->set_env[i];
    static const char *const all[] = {"*"};
    bool whole = s->whole_env || s->bare;
    int made = environ_make(environ, whole ? all : s->keep_env, whole ? 1 : s->nkeep_env, set,
                            &r->arena, &r->env);
    return made < 0 ? err_nomem(err) : 0;
}

/* ---- running ---- */

static int report_refusal(const struct run *r, const struct bk_err *err)
{
    if (r->spec->complain)
        r->spec->complain(r->spec->launch.arg, &r->policy.unit, err);
    return -1;
}

/* Runs in the judge's process, and reports there: the controller has no copy of the findings. */
static int prepare(void *arg, struct launch_policy *out)
{
    struct run *r = arg;
    struct bk_err err;
    r->policy.unit.opt.terse = true;
    r->options.terse = true;
    bool kept = policy_cache_load(r);
    if (!kept && run_plan(r, &err) < 0)
        return report_refusal(r, &err);
    if (r->spec->upstream && !r->plan.gate) {
        err_set(&err, BK_E_INPUT,
                "upstream proxy: the network is not filtered, so nothing uses it");
        err_remedy(&err, REMEDY_FILTER_NETWORK);
        return report_refusal(r, &err);
    }
    *out = (struct launch_policy){&r->plan, r->policy.graph, kept};
    return 0;
}

static void started(void *arg, bool kept)
{
    if (!kept)
        policy_cache_save(arg);
}

static int meanwhile(void *arg, struct bk_err *err)
{
    struct run *r = arg;
    if (r->spec->tmpdir)
        return mkdir(r->spec->tmpdir, 0700) < 0 && errno != EEXIST
                   ? err_sys(err, "cannot create %s", r->spec->tmpdir)
                   : 0;
    if (r->spec->bare)
        return 0;
    return r->private_tmpdir.lock >= 0 ? 0 : tmpdir_make(&r->private_tmpdir, err);
}

static void complete_launch(struct run *r, struct launch *l)
{
    const struct run_spec *s = r->spec;
    *l = s->launch;
    l->prepare = prepare;
    l->meanwhile = meanwhile;
    l->started = started;
    l->compile = run_recompile;
    l->on_nest = nest_serve;
    l->on_nested = nest_served;
    l->run = r;
    l->host = &r->host;
    l->init = &r->init;
    l->env = r->env.env;
    l->tmpdir = s->bare ? NULL : run_tmpdir(r);
    l->layers = r->kept.path[0] ? r->kept.path : NULL;
    l->connector = r->connector[0] ? r->connector : NULL;
    l->parents = r->has_parents ? &r->parents : NULL;
    /* the sandbox as a whole where a control group can be had, else each process */
    if ((l->max_memory || l->max_procs) && cgroup_make(&r->cgroup, l->max_memory, l->max_procs))
        l->max_memory = l->max_procs = 0;
    l->cgroup = r->cgroup.fd;
}

/* Notes an ability that host_quick() assumed and the launch found missing. */
static bool learn_ability(struct host *h, const struct launch_end *end)
{
    /* a plain chroot, whose root is no mount point */
    if (end->step == STEP_PRIVATE_MOUNTS && h->mount_ns)
        return h->mount_ns = false, true;
    if (end->step == STEP_MOUNT_PROC && h->mount_proc)
        return h->mount_proc = false, true;
    /* no FUSE, or too few descriptors to serve it */
    bool unserved = end->step == STEP_SENTRY && end->sys == EMFILE;
    if ((end->step == STEP_SENTRY_MOUNT || unserved) && h->fuse)
        return h->fuse = false, true;
    if (end->step == STEP_DEVICES && h->nodev)
        return h->nodev = false, true;
    bool spaces = end->step == STEP_NAMESPACES || end->step == STEP_MAP_IDS;
    bool refused = end->sys != ENOMEM && end->sys != EAGAIN;
    if (spaces && refused && !host_may_administer(h) && h->user_ns)
        return h->user_ns = false, true;
    /* a seccomp filter refuses them to root as well; which of them does not matter */
    if (spaces && refused && host_may_administer(h) && h->mount_ns) {
        h->user_ns = h->mount_ns = h->pid_ns = h->net_ns = h->ipc_ns = h->uts_ns = false;
        return true;
    }
    bool listener = end->sys == EBUSY || end->sys == EPERM;
    if (end->step == STEP_FILTER && listener && !h->listener_taken)
        return h->listener_taken = true, true;
    return false;
}

static bool learn_from(struct host *h, const struct launch_end *end)
{
    bool learned = learn_ability(h, end);
    host_find_disks(h);
    return learned;
}

/* Has the controller of the sandbox around this one run the command. */
static int go_nested(struct run *r, struct launch_end *end, struct bk_err *err)
{
    struct nest_request q;
    struct launch l = r->spec->launch;
    OWN(buf) struct buf bytes = {0};
    if (run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, report_refusal(r, err);
    if (r->spec->upstream)
        return err_set(err, BK_E_INPUT, "upstream proxy: the outer sandbox decides how to connect");
    if (meanwhile(r, err) < 0 || prepare_env(r, err) < 0 || nest_write(r, &l, &bytes, err) < 0 ||
        nest_fill(r, &l, &q, err) < 0)
        return -1;
    int memory = nest_memory_make(bytes.s, bytes.n);
    if (memory < 0) {
        errno = -memory;
        return err_sys(err, "the policy and the command");
    }
    return nest_run(&l, &q, steal_fd(&r->channel), memory, end, err);
}

int run_describe_nested(struct run *r, bool json, struct buf *out, struct bk_err *err)
{
    static char word[] = "true";
    static char *const any[] = {word, NULL};
    static char *const no_env[] = {NULL};
    struct nest_request q;
    struct launch l = r->spec->launch;
    OWN(buf) struct buf bytes = {0};
    OWN(mem) char *told = NULL;
    size_t n;
    if (r->channel < 0)
        return 0;
    l.argv = l.argv && l.argv[0] ? l.argv : any;
    r->env.env = (char **)no_env;
    if (nest_write(r, &l, &bytes, err) < 0)
        return -1;
    nest_options(r, &l, json ? NEST_PLAN_JSON : NEST_PLAN, &q);
    int memory = nest_memory_make(bytes.s, bytes.n);
    if (memory < 0) {
        errno = -memory;
        return err_sys(err, "the policy");
    }
    if (nest_describe(&q, steal_fd(&r->channel), memory, &told, &n, err) < 0)
        return -1;
    buf_add(out, told, n);
    return 1;
}

static int go_on_macos(struct run *r, struct launch_end *end, struct bk_err *err)
{
    if (run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, report_refusal(r, err);
    if (meanwhile(r, err) < 0 || prepare_env(r, err) < 0)
        return -1;
    return run_macos(r, end, err);
}

static int launch_and_learn(void *arg, struct launch_end *end, struct bk_err *err)
{
    struct run *r = arg;
    for (;;) {
        int result = launch_run(&r->launch, end, err);
        if (r->nests.n)
            nest_end_all(r);
        if (result == 0 || !learn_from(&r->host, end))
            return result;
    }
}

/* Whether the policy is open about processes, and this host can enforce the rest of it without a
 * pid namespace. */
static bool may_leave(struct run *r)
{
    struct bk_err err;
    struct host apart = r->host;
    struct plan plan;
    if (!r->spec->may_leave || r->spec->launch.wait_all || !leave_is_open(r->policy.graph))
        return false;
    apart.pid_ns = false;
    r->options.leaves = true;
    if (plan_make(r->policy.graph, &r->options, &apart, &plan, &err) < 0)
        return r->options.leaves = false;
    plan_free(&plan);
    r->host = apart;
    return true;
}

int run_go(struct run *r, struct launch_end *end, struct bk_err *err)
{
    if (policy_on_macos())
        return go_on_macos(r, end, err);
    if (r->channel >= 0)
        return go_nested(r, end, err);
    r->policy.unit.opt.terse = !r->policy.shipped; /* run_graph() adds the texts if needed */
    bool here = !r->policy.shipped || r->spec->may_leave;
    if (here && run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, report_refusal(r, err);
    bool leaves = may_leave(r);
    if (prepare_env(r, err) < 0)
        return -1;
    if (r->spec->caches && r->spec->caches->n)
        kept_layers_open(&r->kept, r->spec->launch.cwd, r->spec->caches);
    complete_launch(r, &r->launch);
    return leaves ? leave_run(&r->launch, launch_and_learn, r, end, err)
                  : launch_and_learn(r, end, err);
}

/* ---- afterwards ---- */

void run_clean(struct run *r)
{
    if (!tmpdir_remove_empty(&r->private_tmpdir)) {
        init_end(&r->init); /* its processes could still move files in there */
        tmpdir_remove(&r->private_tmpdir);
    }
    kept_layers_close(&r->kept);
    cgroup_remove(&r->cgroup);
}

void run_close(struct run *r)
{
    if (r->channel >= 0)
        close(r->channel);
    init_end(&r->init);
    kept_layers_close(&r->kept);
    cgroup_remove(&r->cgroup);
    tmpdir_remove(&r->private_tmpdir);
    plan_free(&r->plan);
    run_updates_free(r);
    run_policy_free(&r->policy);
    link_targets_free(&r->targets);
    mounts_free(&r->mounts.now);
    buf_free(&r->own_rules);
    arena_free(&r->arena);
}
