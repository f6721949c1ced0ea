/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run on Linux, in the order that makes a launch quick. The judge compiles the policy while this
 * process creates the TMPDIR. A policy with files is compiled here first, once: a file could have
 * changed when it is read again, and the command may be able to write it.
 */

#include "run/on-linux/run-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "command/state-folder.h"
#include "kernel/host/case-fold.h"
#include "kernel/launch/host-mounts.h"
#include "kernel/launch/layers.h"
#include "kernel/shared/name-search.h"
#include "macos/macos-run.h"
#include "policy/target.h"
#include "run/credentials.h"
#include "run/ssh-agent.h"
#include "run/on-linux/input-watch.h"
#include "run/on-linux/leave.h"
#include "run/on-linux/nest.h"
#include "run/on-linux/policy-cache.h"
#include "run/on-linux/search-record.h"
#include "run/run-int.h"

/* ---- preparing ---- */

static void find_folding(struct mounts_view *mounts, const struct run_spec *spec)
{
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    const char *const folders[] = {spec->launch.cwd, named ? realpath(named, home) : NULL};
    case_fold_find(mounts, folders, 2);
}

int run_mounts(struct mounts_view *mounts, const struct run_spec *spec, struct bk_err *err)
{
    OWN(fd) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    mounts_open(mounts, fd);
    if (!mounts_now(mounts, false))
        return err_sys(err, "cannot read /proc/self/mountinfo");
    mounts->fd = -1;
    find_folding(mounts, spec);
    return 0;
}

/* Init has read them meanwhile. */
static int take_mounts(struct run *r, struct bk_err *err)
{
    struct mounts_view *m = &r->kernel->mounts;
    char *text;
    size_t n;
    if (r->kernel->init.mounts < 0)
        return 0;
    OWN(fd) int from = steal_fd(&r->kernel->init.mounts);
    if (host_mounts_take(from, &text, &n) < 0)
        return run_mounts(m, r->spec, err);
    mounts_open(m, -1);
    if (mounts_parse(&m->now, text, n) < 0)
        return err_nomem(err);
    m->current = true;
    find_folding(m, r->spec);
    return 0;
}

static void complete_options(struct run *r)
{
    r->kernel->options = r->spec->plan;
    r->kernel->options.ask = r->spec->launch.on_question != NULL;
    r->kernel->options.cwd = r->spec->launch.cwd;
    r->kernel->options.arch = PLAN_NATIVE;
}

static int probe_host(struct run *r, bool probe, struct bk_err *err)
{
    const char *pretend = getenv("BUCKLE_PRETEND");
    if (r->spec->like) { /* what this process can do does not change */
        r->kernel->host = r->kernel->first = r->spec->like->kernel->first;
        return 0;
    }
    if (!probe)
        host_quick(&r->kernel->host);
    else if (host_probe(&r->kernel->host, err) < 0)
        return -1;
    int result = pretend ? host_pretend(&r->kernel->host, pretend, err) : 0;
    host_find_disks(&r->kernel->host);
    r->kernel->first = r->kernel->host;
    return result;
}

/* Or leaves that to init. */
static int read_mounts(struct run *r, struct bk_err *err)
{
    if (policy_on_macos())
        return 0;
    r->kernel->options.mounts = &r->kernel->mounts;
    if (r->spec->like && run_mounts_unchanged(r->spec->like)) {
        r->kernel->options.mounts = &r->spec->like->kernel->mounts;
        return 0;
    }
    return r->kernel->init.mounts >= 0 ? 0 : run_mounts(&r->kernel->mounts, r->spec, err);
}

void run_kernel_init(struct run_kernel *k)
{
    *k = (struct run_kernel){.cgroup.fd = -1,
                             .init = {.pidfd = -1, .ready = -1, .mounts = -1},
                             .kept.lock = -1,
                             .mounts_watch = -1,
                             .channel = -1};
}

/* Not inside a sandbox: its command chose the variables that name the state folder. */
static void recall_links(struct run *r)
{
    char home[PATH_MAX];
    const char *named = getenv("HOME");
    if (r->kernel->channel >= 0 || run_system_is_inside(r))
        return;
    const char *at = named ? realpath(named, home) : NULL;
    const struct run *like = r->spec->like;
    r->kernel->links =
        kept_links_recall(&r->targets, at, !r->spec->bare, like ? &like->kernel->seen : NULL);
    kept_large_init(&r->kernel->large);
    r->targets.recall = &r->kernel->large.recall;
}

/* Before the policy is known: people write profiles of their own, and use this one, to close
 * little. If that is wrong, init's mounts stay closed. */
static bool likely_opens_devices(const struct run_spec *spec)
{
    for (size_t i = 0; i < spec->nsources; i++) {
        const struct run_source *s = &spec->sources[i];
        if (s->kind == RUN_FILE || (s->kind == RUN_SHIPPED && strcmp(s->name, "open") == 0))
            return true;
    }
    return false;
}

int run_system_open(struct run *r, bool probe, struct bk_err *err)
{
    const struct run_spec *spec = r->spec;
    r->kernel = malloc(sizeof(*r->kernel));
    if (!r->kernel)
        return err_nomem(err);
    run_kernel_init(r->kernel);
    complete_options(r);
    if (probe) /* without probing inside a sandbox of ours, which would report it */
        r->kernel->channel = nest_call();
    if (probe_host(r, probe && r->kernel->channel < 0, err) < 0)
        return -1;
    /* inside a sandbox of ours, that one's controller does the rest */
    if (!probe && r->kernel->host.listener_taken)
        r->kernel->channel = nest_call();
    /* this takes longest, and needs nothing of what follows */
    r->kernel->init.reads = true;
    r->kernel->init.devices = likely_opens_devices(spec);
    bool starts = !spec->may_leave && !spec->like;
    if (!probe && r->kernel->channel < 0 && !policy_on_macos() && starts)
        init_start(&r->kernel->init, &r->kernel->host, spec->launch.cwd, spec->launch.prepared);
    if (read_mounts(r, err) < 0)
        return -1;
    r->targets.quiet = r->kernel->channel >= 0 && getenv("SANDBOX_RUNTIME");
    if (!probe)
        recall_links(r);
    return 0;
}

/* Inside a sandbox of ours that one's judge protects Buckle's files, and the kernel allows only one
 * listener. */
bool run_system_is_inside(const struct run *r)
{
    return r->kernel->host.listener_taken && getenv("SANDBOX_RUNTIME");
}

int run_plan(struct run *r, struct bk_err *err)
{
    if (run_policy_compile(&r->policy, err) < 0)
        return -1;
    struct run_kernel *k = r->kernel;
    k->options.tmpdir = run_tmpdir(r);
    if (plan_make(r->policy.graph, &k->options, &k->host, &k->plan, err) < 0)
        return -1;
    if (!k->outer)
        return 0;
    plan_show_layers(&k->plan, k->outer);
    if (!plan_has_layer_in_search(&k->plan))
        return 0;
    k->options.no_search = true;
    plan_free(&k->plan);
    return run_plan(r, err);
}

/* Inside a sandbox of ours: appends the plan that the run gets there, by asking the outer
 * controller. Returns 1, 0 if the run is inside none, or -1. */
static int describe_nested(struct run *r, bool json, struct buf *out, struct bk_err *err)
{
    static char word[] = "true";
    static char *const any[] = {word, NULL};
    static char *const no_env[] = {NULL};
    struct nest_request q;
    struct launch l = r->spec->launch;
    OWN(buf) struct buf bytes = {0};
    OWN(mem) char *told = NULL;
    size_t n;
    if (r->kernel->channel < 0)
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
    if (nest_describe(&q, steal_fd(&r->kernel->channel), memory, &told, &n, err) < 0)
        return -1;
    buf_add(out, told, n);
    return 1;
}

/* Describes what a launch would do: judge, if there is too much to search. */
static int replan_unsearched(struct run *r, struct bk_err *err)
{
    struct plan *p = &r->kernel->plan;
    const char *paths[PLAN_SEARCHES];
    for (size_t i = 0; i < p->nsearches; i++)
        paths[i] = p->searches[i].path;
    const struct name_record *known = p->nsearches ? search_record_load(r) : NULL;
    if (p->nsearches == 0 || (known && !known->too_big) ||
        name_search_fits(r->policy.graph, paths, p->nsearches))
        return 0;
    r->kernel->options.no_search = true;
    plan_free(p);
    return run_plan(r, err);
}

int run_print_plan(struct run *r, bool json, struct buf *out, struct bk_err *err)
{
    if (policy_on_macos())
        return run_print_seatbelt(r, "sandbox-exec", json, out, err);
    int nested = run_policy_compile(&r->policy, err) < 0 ? -1 : describe_nested(r, json, out, err);
    if (nested)
        return nested > 0 ? 0 : -1;
    if (run_plan(r, err) < 0 || replan_unsearched(r, err) < 0)
        return -1;
    (json ? plan_print_json : plan_print_text)(&r->kernel->plan, r->policy.graph, out);
    return 0;
}

/* ---- running ---- */

/* Only the judge sees that a file with several names is about to change. The mark is for the
 * summary. */
static int settle_world(struct run *r, struct bk_err *err)
{
    char mark[PATH_MAX];
    if (r->kernel->plan.unjudged && layers_have_links(&r->kernel->plan)) {
        r->kernel->options.unjudged = false;
        return run_plan(r, err);
    }
    int n = r->kernel->plan.unjudged
                ? snprintf(mark, sizeof(mark), "%s/" WORLD_UNLISTED, r->spec->launch.world)
                : 0;
    OWN(fd)
    int fd =
        n > 0 && n < PATH_MAX ? open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    return n > 0 && fd < 0 ? err_sys(err, "cannot note how the world is used") : 0;
}

/* Runs in the judge's process, and reports there: the controller has no copy of the findings. */
static int prepare(void *arg, struct launch_policy *out)
{
    struct run *r = arg;
    struct bk_err err;
    r->policy.unit.opt.terse = true;
    r->kernel->options.terse = true;
    const struct name_record *record = NULL;
    r->kernel->options.tmpdir = run_tmpdir(r);
    bool kept = policy_cache_load(r);
    if (!kept && run_plan(r, &err) < 0)
        return run_refused(r, &err);
    if (r->kernel->plan.nsearches)
        record = search_record_load(r);
    if (record && record->too_big) {
        record = NULL;
        r->kernel->options.no_search = true;
        if (run_plan(r, &err) < 0)
            return run_refused(r, &err);
    }
    if (settle_world(r, &err) < 0)
        return run_refused(r, &err);
    if (r->spec->upstream && !r->kernel->plan.gate) {
        err_set(&err, BK_E_INPUT,
                "upstream proxy: the network is not filtered, so nothing uses it");
        err_remedy(&err, REMEDY_FILTER_NETWORK);
        return run_refused(r, &err);
    }
    *out = (struct launch_policy){&r->kernel->plan, r->policy.graph, kept, record};
    return 0;
}

static void started(void *arg, bool kept, bool searched)
{
    struct run *r = arg;
    if (!kept)
        policy_cache_save(r);
    if (searched || r->kernel->options.no_search)
        search_record_save(r);
    if (r->kernel->links)
        kept_links_save(r->kernel->links, &r->targets);
    kept_large_save(&r->kernel->large, &r->targets);
    if (r->private_tmpdir.lock >= 0)
        tmpdir_sweep(&r->private_tmpdir);
}

/* What others left is removed while the command runs. */
static int make_tmpdir(void *arg, struct bk_err *err)
{
    struct run *r = arg;
    bool own = !r->spec->tmpdir && !r->spec->bare && r->private_tmpdir.lock < 0;
    int made = own ? tmpdir_make_alone(&r->private_tmpdir, err) : run_make_tmpdir(r, err);
    return made < 0 ? made : run_ssh_start(r, err);
}

static void complete_launch(struct run *r, struct launch *l)
{
    const struct run_spec *s = r->spec;
    *l = s->launch;
    l->prepare = prepare;
    l->meanwhile = make_tmpdir;
    l->started = started;
    l->compile = run_recompile;
    l->on_nest = nest_serve;
    l->on_nested = nest_served;
    l->run = r;
    l->host = &r->kernel->host;
    l->init = &r->kernel->init;
    l->env = r->env.env;
    l->tmpdir = s->bare ? NULL : run_tmpdir(r);
    l->layers = r->kernel->kept.path[0] ? r->kernel->kept.path : NULL;
    l->connector = r->connector[0] ? r->connector : NULL;
    l->parents = r->has_parents ? &r->parents : NULL;
    l->secrets = r->secrets.n ? &r->secrets : NULL;
    l->other_events = run_ssh_count(r->spec) ? &r->ssh_events : NULL;
    l->handling = r->has_handling ? &r->handling : NULL;
    l->covers = r->covers;
    l->ncovers = r->ncovers;
    /* the sandbox as a whole where a control group can be had, else each process */
    if ((l->max_memory || l->max_procs) &&
        cgroup_make(&r->kernel->cgroup, l->max_memory, l->max_procs))
        l->max_memory = l->max_procs = 0;
    l->cgroup = r->kernel->cgroup.fd;
    run_record_join(r, l);
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
    /* a sandbox around us that refuses network calls */
    if (end->step == STEP_LOOPBACK && h->net_ns)
        return h->net_ns = false, true;
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
    run_record_join(r, &l);
    if (run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, run_refused(r, err);
    if (r->spec->upstream)
        return err_set(err, BK_E_INPUT, "upstream proxy: the outer sandbox decides how to connect");
    if (run_ssh_count(r->spec))
        return err_set(err, BK_E_INPUT, "ssh: the outer sandbox decides about keys");
    if (run_credentials_count(r->spec))
        return err_set(err, BK_E_INPUT, "credentials: the outer sandbox has its own gate");
    if (run_is_stacked(r->spec)) /* only texts go there */
        return err_set(err, BK_E_INPUT,
                       "inside another sandbox, a run takes no entitlements, extensions or "
                       "platform profiles");
    if (run_make_tmpdir(r, err) < 0 || run_prepare_env(r, err) < 0 ||
        nest_write(r, &l, &bytes, err) < 0 || nest_fill(r, &l, &q, err) < 0)
        return -1;
    int memory = nest_memory_make(bytes.s, bytes.n);
    if (memory < 0) {
        errno = -memory;
        return err_sys(err, "the policy and the command");
    }
    return nest_run(&l, &q, steal_fd(&r->kernel->channel), memory, end, err);
}

static int launch_and_learn(void *arg, struct launch_end *end, struct bk_err *err)
{
    struct run *r = arg;
    for (;;) {
        int result = launch_run(&r->kernel->launch, end, err);
        if (r->kernel->nests.n)
            nest_end_all(r);
        if (result == 0)
            return result;
        if (end->step == STEP_SEARCH && !r->kernel->options.no_search)
            r->kernel->options.no_search = true; /* it is judged instead */
        else if (!learn_from(&r->kernel->host, end))
            return result;
    }
}

/* Whether the policy is open about processes, and this host can enforce the rest of it without a
 * pid namespace. */
static bool may_leave(struct run *r)
{
    struct bk_err err;
    struct host apart = r->kernel->host;
    struct plan plan;
    if (!r->spec->may_leave || r->spec->launch.wait_all || !leave_is_open(r->policy.graph))
        return false;
    apart.pid_ns = false;
    r->kernel->options.leaves = true;
    if (plan_make(r->policy.graph, &r->kernel->options, &apart, &plan, &err) < 0)
        return r->kernel->options.leaves = false;
    plan_free(&plan);
    r->kernel->host = apart;
    return true;
}

static int go(struct run *r, struct launch_end *end, struct bk_err *err)
{
    if (r->kernel->channel >= 0)
        return go_nested(r, end, err);
    r->policy.unit.opt.terse = !r->policy.shipped; /* run_graph() adds the texts if needed */
    bool here = !r->policy.shipped || r->spec->may_leave;
    if (here && run_policy_compile(&r->policy, err) < 0)
        return end->step = STEP_POLICY, run_refused(r, err);
    bool leaves = may_leave(r);
    if (run_prepare_env(r, err) < 0)
        return -1;
    if (r->spec->caches && r->spec->caches->n)
        kept_layers_open(&r->kernel->kept, r->spec->launch.cwd, r->spec->caches);
    if (take_mounts(r, err) < 0)
        return -1;
    complete_launch(r, &r->kernel->launch);
    return leaves ? leave_run(&r->kernel->launch, launch_and_learn, r, end, err)
                  : launch_and_learn(r, end, err);
}

int run_go(struct run *r, struct launch_end *end, struct bk_err *err)
{
    if (policy_on_macos())
        return run_go_seatbelt(r, NULL, end, err);
    if (r->spec->record.path && run_record_begin(r, err) < 0)
        return -1;
    int result = go(r, end, err);
    if (r->record)
        run_record_end(r, end, result);
    return result;
}

int run_signal(int sig)
{
    return policy_on_macos() ? macos_signal(sig) : launch_signal(sig);
}

void run_cancel(bool at_once)
{
    if (policy_on_macos())
        macos_cancel(at_once);
    else
        launch_cancel(at_once);
}

/* ---- afterwards ---- */

void run_system_clean(struct run *r)
{
    kept_layers_close(&r->kernel->kept);
    cgroup_remove(&r->kernel->cgroup);
}

void run_system_stop(struct run *r)
{
    init_end(&r->kernel->init);
}

void run_system_close(struct run *r)
{
    struct run_kernel *k = r->kernel;
    if (!k)
        return;
    if (k->channel >= 0)
        close(k->channel);
    if (k->mounts_watch >= 0)
        close(k->mounts_watch);
    input_watch_free(k->watch);
    init_end(&k->init);
    kept_layers_close(&k->kept);
    cgroup_remove(&k->cgroup);
    plan_free(&k->plan);
    mounts_free(&k->mounts.now);
    kept_links_free(k->links);
    kept_large_free(&k->large);
    kept_seen_free(&k->seen);
    free(k);
    r->kernel = NULL;
}
