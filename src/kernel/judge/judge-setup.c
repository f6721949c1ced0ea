/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The judge's process before it judges, in the first two of its phases (judge-main.c): it receives
 * the policy, starts the sentry and the gate, enters the namespaces that init made, and finally
 * enters the walls. Init, sentry and gate work at the same time; the order here keeps them busy.
 */

#include "kernel/judge/judge-setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "command/own-record.h"
#include "kernel/gate/cover-file.h"
#include "kernel/gate/resolver-files.h"
#include "kernel/gate/trust-files.h"
#include "kernel/judge/ask.h"
#include "kernel/launch/core-files.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/kernel-files.h"
#include "kernel/launch/layer-server.h"
#include "kernel/launch/terminals.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/roles.h"
#include "net/rules.h"

void judge_report_status(const struct setup *s, enum status_kind kind, int step, int value)
{
    struct status_msg m = {(int32_t)kind, step, value};
    while (write(s->status, &m, sizeof(m)) < 0 && errno == EINTR)
        ;
}

void judge_fail(const struct setup *s, enum launch_step step, int err)
{
    judge_report_status(s, STATUS_FAILED, (int)step, err < 0 ? -err : err);
    _exit(1);
}

void judge_check(const struct setup *s, enum launch_step step, int err)
{
    if (err < 0)
        judge_fail(s, step, err);
}

/* ---- namespaces and descriptors ---- */

/* All except the network namespace: the command waits for that, and the judge follows. */
static void enter_init(const struct judge_process *in)
{
    const struct setup *s = in->s;
    const struct plan *p = s->plan;
    int flags = CLONE_NEWNS | (p->user_ns ? CLONE_NEWUSER : 0) | (p->ipc_ns ? CLONE_NEWIPC : 0) |
                (p->uts_ns ? CLONE_NEWUTS : 0);
    judge_check(s, STEP_NAMESPACES, init_enter(s->init->pidfd, s->init->pid, in->proc, flags));
}

/* Call it before the walls, which hide init from the judge. */
static int open_pid_namespace(const struct judge_process *in)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/ns/pid", in->s->init->pid);
    int fd = openat(in->proc, name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Without init, the judge's process already has all its namespaces except the network. */
static void make_own_namespaces(const struct judge_process *in)
{
    struct setup *s = in->s;
    const struct plan *p = s->plan;
    if (p->mount_ns && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        judge_fail(s, STEP_PRIVATE_MOUNTS, errno);
    if (p->mount_ns) {
        static struct terminals terminals; /* must live as long as the process */
        judge_check(s, STEP_TERMINALS, terminals_mount(&terminals));
        terminals_settle(&terminals);
        judge_check(s, STEP_SHARED_MEMORY, private_shared_memory(s->launch->cwd));
        judge_check(s, STEP_SHARED_MEMORY, p->ipc_ns ? private_queues() : 0);
    }
    if (p->net_ns) {
        judge_check(s, STEP_NAMESPACES, unshare(CLONE_NEWNET) < 0 ? -errno : 0);
        judge_check(s, STEP_LOOPBACK, loopback_up());
    }
}

enum { DESCRIPTORS = 64 }; /* enough to judge, with some for calls that wait */

/* Raises the judge's limit to the maximum; the command gets the given one back (command.c). */
static int raise_descriptors(struct rlimit *given)
{
    if (getrlimit(RLIMIT_NOFILE, given) < 0)
        return -errno;
    struct rlimit all = {given->rlim_max, given->rlim_max};
    if (given->rlim_max < DESCRIPTORS)
        return -EMFILE;
    return setrlimit(RLIMIT_NOFILE, &all) < 0 ? -errno : 0;
}

static void tie_to_controller(struct judge_process *in)
{
    struct setup *s = in->s;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->controller)
        _exit(1); /* it died before PR_SET_PDEATHSIG */
    role_take(ROLE_JUDGE);
    /* first: a later descriptor could get one of these numbers */
    for (size_t i = 0; i < s->launch->nuser_fds; i++)
        close(s->launch->user_fds[i]);
    if (s->hold[1] >= 0) /* only the controller can say what a held command is */
        close(s->hold[1]);
    judge_check(s, STEP_DESCRIPTORS, raise_descriptors(&s->descriptors));
    /* before opening files: they must be as readable in the new namespace as outside */
    struct host_spaces spaces = host_spaces(s->launch->host);
    if (!spaces.pid && spaces.user)
        judge_check(s, STEP_MAP_IDS, id_maps_take(&s->maps, s->uid, s->gid));
    in->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    in->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    judge_check(s, STEP_OPEN_PROC, in->null < 0 || in->proc < 0 ? -errno : 0);
}

static int open_mounts(const struct judge_process *in)
{
    int fd = openat(in->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    judge_check(in->s, STEP_OPEN_PROC, fd < 0 ? -errno : 0);
    return fd;
}

/* The mounts outside, which inherited descriptors are on. Without init we are inside already. */
static int open_outer_mounts(const struct judge_process *in)
{
    char name[32];
    if (in->s->host_mounts < 0)
        return open_mounts(in);
    snprintf(name, sizeof(name), "self/fd/%d", in->s->host_mounts);
    int fd = openat(in->proc, name, O_RDONLY | O_CLOEXEC);
    judge_check(in->s, STEP_OPEN_PROC, fd < 0 ? -errno : 0);
    return fd;
}

/* Makes the filter. If it judges execve(), the command gets a secret pass for its own start. */
static int make_filter(struct setup *s)
{
    struct plan p = *s->plan;
    struct bk_err err;
    bool judged = false;
    for (size_t i = 0; i < p.ncalls; i++)
        judged |= p.calls[i].passable;
    while (judged && p.pass == 0)
        if (getrandom(&p.pass, sizeof(p.pass), 0) < 0 && errno != EINTR)
            return -errno;
    s->pass = p.pass;
    return bpf_assemble(&p, s->filter, FILTER_MAX, &s->nfilter, &err) < 0 ? -E2BIG : 0;
}

/* Everything that needs no init. */
static void prepare_policy(struct setup *s)
{
    const struct launch *l = s->launch;
    struct launch_policy policy = l->policy;
    if (!policy.plan && l->prepare(l->run, &policy) < 0)
        judge_fail(s, STEP_POLICY, 0);
    s->plan = policy.plan;
    s->graph = policy.graph;
    s->kept = policy.kept;
    s->record = policy.record;
    s->env = l->env;
    judge_check(s, STEP_FILTER, make_filter(s));
    inherited_list(&s->inherited, l->keep_fds, l->nkeep);
}

static void receive_init(struct setup *s)
{
    judge_check(s, STEP_INIT, init_receive(&s->taken, s->events));
    s->init = s->taken.ready >= 0 ? &s->taken : NULL;
    if (!s->init && host_spaces(s->launch->host).pid)
        judge_fail(s, STEP_INIT, EAGAIN);
}

/* ---- sentries ---- */

/* Starts the sentry while the judge is still as unconfined as the sentry must be. It becomes a
 * child of the controller, which kills it at the end. */
static void start_sentries(struct setup *s)
{
    int ends[2], search[2] = {-1, -1};
    s->sentries = s->search = -1;
    if (s->plan->nsentries == 0 && s->plan->nlayers == 0 && s->plan->nsearches == 0)
        return;
    judge_check(s, STEP_SENTRY,
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0);
    if (s->plan->nsearches)
        judge_check(s, STEP_SENTRY,
                    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, search) < 0 ? -errno : 0);
    struct sentries_task task = {
        .plan = s->plan,
        .graph = s->graph,
        .launch = s->launch,
        .controller = s->controller,
        .namespaces = s->init ? s->init->pidfd : -1,
        .inside = s->init ? s->init->pid : 0,
        .host_mounts = s->host_mounts,
        .events = s->events,
        .judge = ends[0],
        .search = search[0],
        .record = s->record,
    };
    pid_t pid = sentries_start(&task);
    judge_check(s, STEP_SENTRY, pid);
    judge_report_status(s, STATUS_SENTRY, 0, pid);
    close(ends[0]);
    s->sentries = ends[1];
    if (search[0] >= 0)
        close(search[0]);
    s->search = search[1];
}

/* ---- a mount namespace without sentries ---- */

static int enter_mounts(int space, int root)
{
    return setns(space, CLONE_NEWNS) < 0 || fchdir(root) < 0 || chroot(".") < 0 ? -errno : 0;
}

/* The kernel refuses to remove or move a name that has a mount in the namespace of the caller. So
 * the judge will do that from a copy that was made before the sentries' mounts. */
static void copy_mounts(struct judge_process *in)
{
    struct setup *s = in->s;
    if (s->plan->nsearches == 0)
        return;
    OWN(fd) int own = openat(in->proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
    in->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    judge_check(s, STEP_SEARCH, own < 0 || in->root < 0 ? -errno : 0);
    judge_check(s, STEP_SEARCH, unshare(CLONE_NEWNS) < 0 ? -errno : 0);
    in->bare = openat(in->proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
    in->guarded->bare = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    in->guarded->search = s->search;
    judge_check(s, STEP_SEARCH, in->bare < 0 || in->guarded->bare <= 0 ? -errno : 0);
    judge_check(s, STEP_SEARCH, enter_mounts(own, in->root));
}

int judge_leave_sentries(const struct judge_process *in)
{
    return in->s->plan->nsearches ? enter_mounts(in->bare, in->root) : 0;
}

static void send_to_sentry(const struct setup *s, const void *what, size_t n)
{
    /* EPIPE or, if it has not read all we sent, ECONNRESET: it has exited, and reported why */
    int err = fd_pass_send(s->sentries, what, n, -1);
    if (err < 0 && err != -EPIPE && err != -ECONNRESET)
        judge_fail(s, STEP_SENTRY, err);
}

/* The mounts are in place: asks the sentry to add its own. While it makes its file system, finds
 * out which of its paths exist, before its own mounts can hide them. */
static void activate_sentries(const struct setup *s)
{
    struct sentries_there there = {0};
    if (s->sentries < 0)
        return;
    send_to_sentry(s, "", 1);
    sentries_look(s->plan, &there);
    send_to_sentry(s, &there, sizeof(there));
}

void judge_take_guarded(const struct judge_process *in)
{
    judge_check(in->s, STEP_SENTRY, guarded_paths_take(in->guarded));
}

static void wait_for_sentries(const struct judge_process *in)
{
    const struct setup *s = in->s;
    enum launch_step step;
    int err = guarded_paths_wait(in->guarded, s->plan, s->sentries, &step);
    judge_check(s, step, err);
    judge_take_guarded(in);
}

static int enter_working_directory(const struct setup *s)
{
    return chdir(s->launch->start ? s->launch->start : s->launch->cwd) < 0 ? -errno : 0;
}

/* Placing sentries takes a while. Meanwhile the judge can build the walls and prepare the command's
 * process, which then waits for them right before exec; unless a path that is needed on the way
 * there may be behind a sentry. */
static bool can_overlap_sentries(const struct judge_process *in)
{
    const struct setup *s = in->s;
    char here[4096];
    if (s->sentries < 0 || in->c.pids < 0 || s->pass || s->plan->gate || s->launch->on_held ||
        s->launch->ncovers)
        return false;
    for (size_t i = 0; i < s->plan->nwalls; i++)
        if (s->plan->walls[i].loader || sentries_cover(s->plan, s->plan->walls[i].path))
            return false;
    return enter_working_directory(s) == 0 && getcwd(here, sizeof(here)) && here[0] == '/' &&
           !sentries_cover(s->plan, here);
}

/* ---- the gate ---- */

/* Call it as soon as the policy is known: init sets up the network while the judge starts the
 * sentry and the gate. */
static void request_network(struct judge_process *in)
{
    struct setup *s = in->s;
    struct netns_wishes wishes;
    bool filtered = s->plan->gate && s->plan->net_ns;
    if (s->plan->gate)
        gate_process_publish(&in->gate, s->plan);
    if (s->plan->local_all)
        loopback_tables_open(&in->host, in->proc, getpid());
    if (filtered)
        wishes = gate_process_wishes(&in->gate, s->plan);
    if (s->init && s->init->net_ns)
        init_order(s->init, filtered ? &wishes : NULL);
}

/* Receives the sockets that lead to the gate; without init, sets up the network here. */
static void receive_gate_sockets(struct judge_process *in, struct netns_sockets *net)
{
    struct setup *s = in->s;
    enum launch_step step = STEP_GATE;
    struct netns_wishes wishes = gate_process_wishes(&in->gate, s->plan);
    int err = s->init ? init_take_gate_sockets(s->init, net, &step) : netns_network(&wishes, net);
    judge_check(s, step, err);
}

static void enter_network(struct judge_process *in)
{
    struct setup *s = in->s;
    enum launch_step step;
    in->c.net = init_take_network(s->init, &step);
    judge_check(s, step, in->c.net);
    judge_check(s, STEP_NAMESPACES, setns(in->c.net, CLONE_NEWNET) < 0 ? -errno : 0);
    int err = init_wait_loopback(s->init, &step);
    judge_check(s, step, err);
}

/* The gate decrypts connections whose requests are checked, with certificates that programs inside
 * have to accept. */
static void set_up_trust(struct judge_process *in)
{
    struct setup *s = in->s;
    OWN(buf) struct buf pem = {0};
    const char *bundle = NULL;
    judge_check(s, STEP_GATE,
                gate_process_authority(&in->gate, s->graph, s->launch->handling, &pem));
    if (!pem.n || !s->plan->mount_ns)
        return;
    char *const *env = s->env ? s->env : s->launch->env;
    judge_check(s, STEP_GATE, trust_files_mount(pem.s, pem.n, env, &bundle));
    s->env = trust_files_environ(env, bundle);
    judge_check(s, STEP_GATE, s->env ? 0 : -ENOMEM);
}

/* Files that the command sees with placeholders. What is there now has to be the cover. */
static void cover_files(const struct setup *s)
{
    struct stat st, own;
    char name[24];
    if (!s->launch->ncovers)
        return;
    OWN(fd) int top = s->plan->mount_ns ? cover_begin("64m") : -EOPNOTSUPP;
    judge_check(s, STEP_COVERS, top);
    judge_check(s, STEP_COVERS, fstat(top, &own) < 0 ? -errno : 0);
    for (size_t i = 0; i < s->launch->ncovers; i++) {
        const struct launch_cover *c = &s->launch->covers[i];
        snprintf(name, sizeof(name), "%zu", i);
        judge_check(s, STEP_COVERS, cover_file(top, name, c->path, c->text, c->n));
        bool there = stat(c->path, &st) == 0;
        judge_check(s, STEP_COVERS, there && st.st_dev != own.st_dev ? -EBUSY : 0);
    }
}

/* A network that is filtered by name must be ready before the command enters it. Does the judge's
 * own part first, while init works. */
static void set_up_gate(struct judge_process *in)
{
    struct setup *s = in->s;
    struct netns_sockets net;
    if (s->plan->dials)
        judge_check(s, STEP_GATE, gate_process_listen(&in->gate));
    if (s->plan->mount_ns && !s->plan->isolated)
        judge_check(s, STEP_GATE, resolver_files_mount(s->plan->dials));
    /* with only local servers in reach, its proxy variables may name one of those: keep them */
    bool leads = !s->plan->isolated && rules_lead_out(s->graph);
    if (leads || s->launch->on_question || s->plan->dials) {
        s->env = gate_process_environ(&in->gate, s);
        judge_check(s, STEP_GATE, s->env ? 0 : -ENOMEM);
    }
    set_up_trust(in);
    if (!s->plan->net_ns)
        return;
    if (s->init)
        enter_network(in);
    receive_gate_sockets(in, &net);
    judge_check(s, STEP_GATE, gate_process_hand_over(&in->gate, &net));
}

/* ---- unconfined ---- */

static void mount_layers(const struct judge_process *in, const int trees[LAYERS_PREPARED])
{
    static const char *const none[LAYERS_PREPARED];
    const struct launch *l = in->s->launch;
    int given[PLAN_LAYERS];
    const struct layers_mounting m = {.paths = l->prepared ? l->prepared : none,
                                      .trees = trees,
                                      .given = l->layer_server > 0 ? given : NULL,
                                      .kept = l->layers,
                                      .world = l->world,
                                      .proc = in->proc};
    if (m.given && in->s->plan->nlayers)
        layer_server_take(l->layer_server, in->s->plan, given);
    if (m.given && in->s->plan->nlayers && l->world)
        layer_server_take_places(l->layer_server, in->s->plan, given);
    if (m.given)
        close(l->layer_server); /* the sentry has it, too */
    int err = layers_mount(in->s->plan, &m, in->layers);
    /* without a world of its own, a sandbox inside another one has that one's layers, or none: then
     * nothing that needs one can be written */
    if (in->s->plan->world || l->world)
        judge_check(in->s, STEP_WORLD, err < 0 || in->layers->n || !l->world ? err : -EOPNOTSUPP);
    in->layers->session = l->linked && !l->own_record; /* not of a sandbox inside */
}

/* The user works in this folder from now on, and at home: what commands created there is not their
 * own any longer. If a command asked for this sandbox, folder and environment are its choice. */
static void open_record(struct judge_process *in)
{
    const struct launch *l = in->s->launch;
    const char *cwd = l->cwd, *home = getenv("HOME"), *path = l->own_record;
    size_t n = home ? strlen(home) : 0;
    char usual[PATH_MAX];
    if (!path)
        path = own_record_path(usual) ? usual : "";
    in->record = *path ? own_record_open(path, policy_asks_own(in->s->graph)) : -1;
    if (l->own_record)
        return;
    own_record_adopt(in->record, cwd);
    if (n > 0 && !(strncmp(cwd, home, n) == 0 && (cwd[n] == '\0' || cwd[n] == '/')))
        own_record_adopt(in->record, home);
}

/* The controller removes the TMPDIR before it exits. The file system frees a folder when its last
 * user is gone, which takes 0.2 ms on a disk: that is to be us, for whom nobody waits. A name and
 * nothing more, that leads to where the command may go anyway. */
static void hold_tmpdir(const struct setup *s)
{
    if (s->launch->tmpdir)
        (void)!open(s->launch->tmpdir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* With the gate's start this process forgets credentials, so a sentry that starts later has none.
 */
static void start_helpers(struct judge_process *in)
{
    struct setup *s = in->s;
    bool gate_first = s->launch->secrets != NULL;
    if (!gate_first)
        start_sentries(s);
    if (s->plan->gate)
        judge_check(s, STEP_GATE, gate_process_start(&in->gate, s));
    if (gate_first)
        start_sentries(s);
}

void judge_phase_unconfined(struct judge_process *in)
{
    struct setup *s = in->s;
    enum launch_step step;
    int trees[LAYERS_PREPARED] = {-1, -1};
    struct devices_list devices;
    tie_to_controller(in);
    prepare_policy(s);
    if (s->plan->mount_ns)
        in->outer = open_outer_mounts(in);
    receive_init(s);
    hold_tmpdir(s);
    request_network(in);
    start_helpers(in);
    open_record(in); /* neither the sentry nor the gate needs it */
    if (s->init) {
        int err = init_wait_mounts(s->init, &step, trees, &devices);
        judge_check(s, step, err);
        if (!s->plan->layers_first && !s->plan->nsearches)
            activate_sentries(s);
        in->c.pids = open_pid_namespace(in);
        judge_check(s, STEP_ENTER_PIDS, in->c.pids);
        enter_init(in);
        copy_mounts(in);
        if (!s->plan->layers_first && s->plan->nsearches)
            activate_sentries(s);
    } else {
        make_own_namespaces(in);
        copy_mounts(in);
        if (!s->plan->layers_first)
            activate_sentries(s);
    }
    in->mounts = open_mounts(in);
    mount_layers(in, trees);
    if (s->plan->layers_first)
        activate_sentries(s);
    if (s->plan->mount_ns)
        judge_check(s, STEP_KERNEL_FILES, kernel_files_make_read_only(s->plan));
    if (s->plan->mount_ns && s->plan->opt.core_dumps && s->launch->tmpdir)
        judge_check(s, STEP_KERNEL_FILES, core_files_redirect(s->launch->tmpdir, s->launch->cwd));
    if (s->init) /* in the meantime; the sentry starts from the host's mounts */
        judge_check(s, STEP_DEVICES, devices_wall(s->plan, s->graph, &devices));
    capabilities_bound(s->plan->caps); /* the command's; forty calls, also in the meantime */
    if (can_overlap_sentries(in)) {
        in->c.guarded = in->guarded;
        return;
    }
    if (s->sentries >= 0)
        wait_for_sentries(in);
    if (!s->init)
        judge_check(s, STEP_DEVICES, devices_wall(s->plan, s->graph, NULL));
    cover_files(s);
    if (s->plan->gate)
        set_up_gate(in);
    /* by path, so that mounts made since then count */
    judge_check(s, STEP_CWD, enter_working_directory(s));
}

/* ---- the walls ---- */

void judge_phase_walled(struct judge_process *in)
{
    struct setup *s = in->s;
    judge_check(s, STEP_LANDLOCK,
                landlock_walls(s->plan, in->guarded, in->layers, in->proc, &in->c.walls));
    judge_check(s, STEP_LANDLOCK, landlock_scope(s->plan, &in->c.scope));
    judge_check(s, STEP_LANDLOCK, landlock_enter(in->c.walls));
}
