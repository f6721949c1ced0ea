/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The outer side of a sandbox inside a sandbox. The controller only counts, forks and relays: a
 * child, the nested controller, reads the request and runs the command like any other, with three
 * differences:
 *
 *   - its policy is what the inner texts and the outer policy both allow (graph_conjoin());
 *   - its options and limits are the stricter of the two, and what it inherits is the asker's;
 *   - its pid namespace is below that of the outer sandbox, and it ends with the asker.
 *
 * Events name a rule of the conjunction, whose first rules are the inner ones: an event with one of
 * these is the asker's, every other is the outer run's, by the number that it has there.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "graph/build.h"
#include "command/own-record.h"
#include "kernel/launch/layer-server.h"
#include "kernel/shared/policy-update.h"
#include "profile/profile.h"
#include "run/on-linux/nest.h"
#include "run/run-int.h"

extern char **environ;

/* ---- the nested controller ---- */

struct nested {
    struct nest_taken taken;
    struct run run;
    struct run_kernel kernel;
    struct run_spec spec;
    struct nest_spec asked;
    struct sbpl_unit unit;
    const char *users_folder, *own_record; /* as in struct launch */
    uint32_t inner_rules;
    uint32_t began;    /* number of the outermost policy at the start */
    struct graph *now; /* the policy since the last update */
    int input;         /* epoll: the channel, the relay and the asker's pidfd */
    int32_t continues; /* from the asker */
};

static void route_event(void *arg, const struct event *e)
{
    struct nested *n = arg;
    struct event copy = *e;
    bool outer = e->rule != GRAPH_NO_RULE && e->rule >= n->inner_rules;
    if (event_is_reached(e) && n->spec.launch.tells_hosts) { /* for the outer record, too */
        copy.rule = GRAPH_NO_RULE;
        send(n->taken.relay, &copy, event_wire_size(&copy), MSG_NOSIGNAL);
        copy.rule = e->rule;
    }
    if (outer) {
        copy.rule = e->rule - n->inner_rules;
        copy.policy = e->policy ? e->policy : n->began;
        if (send(n->taken.relay, &copy, event_wire_size(&copy), MSG_NOSIGNAL) < 0 && errno == EPIPE)
            return;
        copy.rule = EVENT_OUTER_RULE;
    }
    copy.policy = 0; /* the asker's does not change */
    nest_send_event(n->taken.channel, &copy);
}

static void on_start(void *arg)
{
    struct nested *n = arg;
    nest_send(n->taken.channel, NEST_STARTED, n->taken.joined);
}

static void on_stop(void *arg)
{
    struct nested *n = arg;
    nest_send(n->taken.channel, NEST_STOPPED, n->continues);
}

/* The outermost policy has changed. A sandbox that cannot follow ends. */
static void take_update(struct nested *n)
{
    struct policy_update what;
    struct graph *now = NULL;
    OWN(fd) int sealed = -1;
    int got = policy_update_receive(n->taken.relay, &n->kernel.launch, &now, &what, &sealed);
    if (got != UPDATE_POLICY) {
        launch_cancel(true);
        return;
    }
    graph_free(n->now); /* not the first: a plan was made of it */
    n->run.policy.graph = n->now = now;
    n->kernel.outer_number = what.number;
    int sent = launch_update(what.number, sealed);
    if (sent < 0 && sent != -ESRCH)
        launch_cancel(true);
    nest_update(&n->run, what.number, sealed);
}

/* What the asker says; or that it is gone, and then the command ends at once. */
static void on_input(void *arg)
{
    struct nested *n = arg;
    struct nest_message m;
    struct epoll_event ready;
    if (epoll_wait(n->input, &ready, 1, 0) <= 0)
        return;
    if (ready.data.fd == n->taken.relay) {
        take_update(n);
        return;
    }
    ssize_t got = ready.data.fd == n->taken.asker
                      ? 0
                      : recv(n->taken.channel, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        close(n->input);
        n->input = -1;
        launch_cancel(true);
    } else if (got == sizeof(m) && m.kind == NEST_SIGNAL && m.value > 0 && m.value < NSIG) {
        n->continues += m.value == SIGCONT;
        launch_signal(m.value);
    } else if (got == sizeof(m) && m.kind == NEST_CANCEL) {
        launch_cancel(m.value != 0);
    }
}

static int watch_asker(struct nested *n, struct bk_err *err)
{
    struct epoll_event channel = {EPOLLIN, {.fd = n->taken.channel}};
    struct epoll_event asker = {EPOLLIN, {.fd = n->taken.asker}};
    struct epoll_event relay = {EPOLLIN, {.fd = n->taken.relay}};
    n->input = epoll_create1(EPOLL_CLOEXEC);
    if (n->input < 0 || epoll_ctl(n->input, EPOLL_CTL_ADD, n->taken.channel, &channel) < 0 ||
        epoll_ctl(n->input, EPOLL_CTL_ADD, n->taken.asker, &asker) < 0 ||
        epoll_ctl(n->input, EPOLL_CTL_ADD, n->taken.relay, &relay) < 0)
        return err_sys(err, "epoll");
    return 0;
}

/* Runs in the judge's process, which shares the channel. */
static void complain(void *arg, const struct sbpl_unit *unit, const struct bk_err *err)
{
    struct nested *n = arg;
    struct launch_end end = {0};
    (void)unit;
    nest_send_end(n->taken.channel, -1, &end, err);
}

/* ---- its policy ---- */

static int add_sources(struct nested *n, struct bk_err *err)
{
    for (size_t i = 0; i < n->asked.nsources; i++) {
        const struct run_source *s = &n->asked.sources[i];
        int added = s->kind == RUN_SHIPPED ? profile_add_shipped(&n->unit, s->name, err)
                                           : (s->apart ? sbpl_add_apart : sbpl_add_text)(
                                                 &n->unit, s->name, s->text, s->n, err);
        if (added < 0)
            return -1;
        sbpl_mark_last(&n->unit, s->from);
    }
    return 0;
}

/* The outer policy that is in force now. */
static const struct graph *outer_graph(struct run *outer, struct bk_err *err)
{
    if (outer->nupdated)
        return outer->graphs[outer->nupdated];
    return run_policy_compile(&outer->policy, err) < 0 ? NULL : outer->policy.graph;
}

static int make_policy(struct nested *n, struct run *outer, struct bk_err *err)
{
    const struct nest_spec *a = &n->asked;
    struct sbpl_options opt = {.os = VOCAB_OS_ANY,
                               .params = a->params,
                               .nparams = a->nparams,
                               .shipped_only = true,
                               .given = a->given,
                               .ngiven = a->ngiven,
                               .sequels = a->sequels,
                               .nsequels = a->nsequels,
                               .terse = true};
    struct graph *inner = NULL;
    sbpl_unit_init(&n->unit, &opt);
    if (add_sources(n, err) < 0 || sbpl_compile(&n->unit, &inner, err) < 0)
        return -1;
    const struct graph *around = outer_graph(outer, err);
    n->inner_rules = graph_rule_count(inner);
    n->kernel.inner = inner;
    n->kernel.around = outer;
    n->began = n->kernel.outer_number =
        outer->kernel->around ? outer->kernel->outer_number : (uint32_t)outer->nupdated;
    n->run.policy.graph = around ? graph_conjoin(inner, around, err) : NULL;
    n->run.policy.shipped = true;
    return n->run.policy.graph ? 0 : -1;
}

/* ---- its options: the stricter of both ---- */

static struct plan_options stricter(const struct plan_options *outer, const struct nested *n)
{
    const struct nest_request *q = &n->taken.q;
    struct plan_options o = *outer;
    o.ask = o.terse = false;
    o.watch_net = q->watch_net;
    o.accept_weaker &= q->accept_weaker != 0;
    o.keep_userns &= q->keep_userns != 0;
    o.caps &= q->caps;
    o.caps_given_up |= ~n->taken.caps;
    o.strict_reads |= q->strict_reads != 0;
    o.no_masks |= q->no_masks != 0;
    o.core_dumps &= q->core_dumps != 0;
    o.perf = o.session = o.leaves = o.unjudged = false;
    o.tmpdir = NULL;
    o.cwd = n->asked.cwd;
    o.mounts = &n->kernel.mounts;
    return o;
}

static void describe_launch(struct nested *n)
{
    const struct nest_request *q = &n->taken.q;
    n->spec = (struct run_spec){.bare = true, .complain = complain};
    n->spec.launch = (struct launch){.argv = n->asked.argv,
                                     .cwd = n->asked.cwd,
                                     .start = n->asked.start,
                                     .users_folder = n->users_folder,
                                     .own_record = n->own_record,
                                     .keep_fds = n->asked.keep_fds,
                                     .nkeep = n->asked.nkeep,
                                     .late_names = q->late_names,
                                     .max_memory = q->max_memory,
                                     .max_procs = q->max_procs,
                                     .timeout_ms = q->timeout_ms,
                                     .wait_all = q->wait_all,
                                     .no_job_control = q->no_job_control,
                                     .give_stdio = q->give_stdio,
                                     .on_event = route_event,
                                     .on_input = on_input,
                                     .input_fd = n->input,
                                     .on_start = on_start,
                                     .on_stop = on_stop,
                                     .arg = n};
}

/* What a command created is decided by the user's folder and record, not by the asker's. */
static void find_provenance(struct nested *n, const struct run *outer)
{
    const struct launch *l = &outer->spec->launch;
    char path[PATH_MAX];
    n->users_folder = l->users_folder ? l->users_folder : l->cwd;
    if (l->own_record)
        n->own_record = l->own_record;
    else
        n->own_record =
            own_record_path(path) ? arena_strndup(&n->run.arena, path, strlen(path)) : "";
    if (!n->own_record)
        n->own_record = "";
}

/* Everything of the run that run_open() prepares otherwise. */
static int prepare_run(struct nested *n, struct run *outer, struct bk_err *err)
{
    struct run *r = &n->run;
    const struct run_kernel *around = outer->kernel;
    *r = (struct run){.spec = &n->spec,
                      .kernel = &n->kernel,
                      .private_tmpdir.lock = -1,
                      .parents = outer->parents,
                      .has_parents = outer->has_parents,
                      .handling = outer->handling,
                      .has_handling = outer->has_handling};
    run_kernel_init(r->kernel);
    r->kernel->init.below = n->taken.below;
    r->kernel->init.depth = n->taken.below ? around->init.depth + 1 : 0;
    r->kernel->host = around->host;
    r->kernel->depth = around->depth + 1;
    arena_init(&r->arena, 64 << 20);
    memcpy(r->connector, outer->connector, sizeof(r->connector));
    OWN(mem) char *bytes = NULL;
    size_t size;
    if (!(bytes = nest_memory_copy(n->taken.memory, &size)) ||
        nest_read(bytes, size, &r->arena, &n->asked) < 0)
        return err_set(err, BK_E_INPUT, "a request that cannot be read");
    bytes = NULL; /* the request points into it */
    close(n->taken.memory);
    if (watch_asker(n, err) < 0)
        return -1;
    find_provenance(n, outer);
    describe_launch(n);
    if (run_mounts(&r->kernel->mounts, &n->spec, err) < 0)
        return -1;
    r->kernel->options = stricter(&outer->kernel->options, n);
    environ = n->asked.env; /* the command's, all of it */
    return make_policy(n, outer, err);
}

/* What the outer command wrote to its layers is there, and the other way round. */
static void share_layers(struct nested *n, const struct run *outer)
{
    const struct plan *p = &outer->kernel->plan;
    const char *paths[PLAN_LAYERS];
    pid_t pid;
    if (!p->nlayers || !n->taken.below)
        return;
    for (size_t i = 0; i < p->nlayers; i++)
        paths[i] = p->layers[i].path;
    int server = layer_server_start_inside(n->taken.below, p->user_ns, paths, p->nlayers,
                                           n->taken.layers, &pid);
    if (server < 0)
        return;
    n->spec.launch.layer_server = server;
    n->kernel.outer = p;
    if (plan_has_in_layer(p, n->asked.cwd))
        n->kernel.options.cwd = NULL; /* its working folder is not a real one */
}

static int describe(struct nested *n, struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    struct run *r = &n->run;
    if (run_plan(r, err) < 0)
        return -1;
    (n->taken.q.wish == NEST_PLAN ? plan_print_text : plan_print_json)(&r->kernel->plan,
                                                                       r->policy.graph, &out);
    return buf_ok(&out) ? nest_send_answer(n->taken.channel, out.s, out.n) : err_nomem(err);
}

static int go(struct nested *n, struct run *outer, const struct init *init, struct launch_end *end,
              struct bk_err *err)
{
    if (nest_take(&n->taken, init, err) < 0)
        return -1;
    if (n->taken.q.wish == NEST_HOST)
        return nest_send_answer(n->taken.channel, &outer->kernel->host,
                                sizeof(outer->kernel->host));
    if (prepare_run(n, outer, err) < 0)
        return -1;
    if (n->taken.q.wish != NEST_RUNS)
        return describe(n, err);
    /* in the outer sandbox's pid namespace the new init is visible to everything in there, so it
     * goes there only if a Landlock domain keeps it out of their reach */
    if (run_plan(outer, err) < 0)
        return -1;
    if (!outer->kernel->plan.handled_fs && !outer->kernel->plan.handled_net &&
        !outer->kernel->plan.scoped)
        n->kernel.init.below = n->kernel.init.depth = 0;
    share_layers(n, outer);
    return run_go(&n->run, end, err);
}

static void __attribute__((noreturn))
nested_main(struct run *outer, struct nest_taken taken, const struct init *init)
{
    /* not static: the outer run may be such a one itself */
    struct nested *n = calloc(1, sizeof(*n));
    struct launch_end end = {0};
    struct bk_err err = {0};
    if (!n)
        _exit(1);
    n->taken = taken;
    n->input = -1;
    int result = go(n, outer, init, &end, &err);
    setpgid(0, getpgid(getppid())); /* leaves the asker's */
    nest_send_end(n->taken.channel, result, &end, &err);
    _exit(0);
}

/* ---- the controller ---- */

enum { OF_RELAY, OF_ASKER };

static int start_watching(struct nests *s, size_t at)
{
    struct epoll_event relay = {EPOLLIN, {.u64 = at << 1 | OF_RELAY}};
    struct epoll_event asker = {EPOLLIN, {.u64 = at << 1 | OF_ASKER}};
    if (!s->poll)
        s->poll = epoll_create1(EPOLL_CLOEXEC);
    return epoll_ctl(s->poll, EPOLL_CTL_ADD, s->list[at].relay, &relay) < 0 ||
                   epoll_ctl(s->poll, EPOLL_CTL_ADD, s->list[at].asker, &asker) < 0
               ? -errno
               : 0;
}

static struct nest *free_place(struct nests *s)
{
    for (size_t i = 0; i < NESTS; i++)
        if (s->list[i].pid == 0)
            return &s->list[i];
    return NULL;
}

/* Its processes count against the limits of the outer sandbox. */
static bool enter_cgroup(int cgroup)
{
    OWN(fd) int procs = cgroup < 0 ? -1 : openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return cgroup < 0 || (procs >= 0 && write(procs, "0", 1) == 1);
}

static pid_t start_nested(struct run *r, struct nest_taken taken, const struct init *init)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "buckle-nested", 0, 0, 0);
    if (getppid() != parent || !enter_cgroup(r->kernel->cgroup.fd))
        _exit(1);
    nested_main(r, taken, init);
}

static void refuse(int channel, const char *why)
{
    struct launch_end end = {0};
    struct bk_err err;
    err_set(&err, BK_E_LIMIT, "%s", why);
    nest_send_end(channel, -1, &end, &err);
}

int nest_serve(void *run, int asker, int channel, const struct init *init)
{
    struct run *r = run;
    struct nest *n = free_place(&r->kernel->nests);
    int ends[2];
    if (!n || r->kernel->depth >= NEST_DEPTH) {
        refuse(channel,
               n ? "sandboxes are nested too deeply" : "too many sandboxes inside this one");
        return r->kernel->nests.poll ? r->kernel->nests.poll : -1;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return r->kernel->nests.poll ? r->kernel->nests.poll : -1;
    OWN(fd) int theirs = ends[1];
    struct nest_taken taken = {.asker = asker,
                               .channel = channel,
                               .relay = theirs,
                               .below = init && init->pidfd > 0 ? init->pidfd : 0,
                               .layers = r->spec->launch.layer_server};
    *n = (struct nest){.relay = ends[0], .asker = fcntl(asker, F_DUPFD_CLOEXEC, 3)};
    if (start_watching(&r->kernel->nests, (size_t)(n - r->kernel->nests.list)) < 0 ||
        (n->pid = start_nested(r, taken, init)) < 0) {
        close(n->relay);
        close(n->asker);
        n->pid = 0;
        return r->kernel->nests.poll;
    }
    r->kernel->nests.n++;
    return r->kernel->nests.poll;
}

static void end_one(struct run *r, struct nest *n)
{
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(n->relay);
    close(n->asker);
    *n = (struct nest){0};
    r->kernel->nests.n--;
}

/* Passes on an event of the outer policy. Returns false at the end. */
static bool relay_event(struct run *r, const struct nest *n)
{
    static struct event e;
    static unsigned char wire[sizeof(struct event)];
    ssize_t got = recv(n->relay, wire, sizeof(wire), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got > 0 && event_from_wire(wire, (size_t)got, &e) == 0)
        run_event(r, &e);
    return got > 0;
}

void nest_served(void *run)
{
    struct run *r = run;
    struct epoll_event ready;
    if (epoll_wait(r->kernel->nests.poll, &ready, 1, 0) <= 0)
        return;
    struct nest *n = &r->kernel->nests.list[ready.data.u64 >> 1];
    if ((ready.data.u64 & 1) == OF_ASKER) {
        /* it notices as well, unless something inside has stopped it */
        kill(n->pid, SIGCONT);
        epoll_ctl(r->kernel->nests.poll, EPOLL_CTL_DEL, n->asker, NULL);
    } else if (!relay_event(r, n)) {
        end_one(r, n);
    }
}

void nest_update(struct run *r, uint32_t number, int sealed)
{
    for (size_t i = 0; i < NESTS; i++) {
        const struct nest *n = &r->kernel->nests.list[i];
        if (n->pid > 0 && policy_update_try(n->relay, number, sealed) < 0)
            kill(n->pid, SIGKILL);
        else if (n->pid > 0)
            kill(n->pid, SIGCONT);
    }
}

void nest_end_all(struct run *r)
{
    for (size_t i = 0; i < NESTS; i++)
        if (r->kernel->nests.list[i].pid > 0)
            kill(r->kernel->nests.list[i].pid, SIGKILL);
    for (size_t i = 0; i < NESTS; i++)
        if (r->kernel->nests.list[i].pid > 0)
            end_one(r, &r->kernel->nests.list[i]);
}
