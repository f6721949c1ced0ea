/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The judge's life, in stages. Each says what it should do and must not do.
 *
 * Stage 0, unconfined: should enter the namespaces that were laid out for the sandbox (init.c),
 * and open what must be opened before the walls stand. Must not look at anything the command
 * controls.
 *
 * Stage 1, walled: should enter the Landlock wall, so that whatever it does for the command from
 * here on is bounded. Must not keep a descriptor that leads around it.
 *
 * Stage 2, the command: a child of stage 1 (command.c), so its own layer lies inside the judge's:
 * the judge can look into the command, never the other way round.
 *
 * Stage 3, judging: should answer calls without capabilities. Must not allocate per call, nor let
 * the kernel go on with arguments that can still change.
 */

#include "kernel/shared/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "kernel/gate/resolver-files.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/launch/core-files.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/kernel-files.h"
#include "kernel/launch/terminals.h"
#include "kernel/launch/walls.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/policy-update.h"
#include "kernel/shared/roles.h"
#include "net/rules.h"

static struct guarded_paths behind; /* large, and there is one in a process */

struct inside {
    struct setup *s;
    int proc, null; /* the host's /proc; /dev/null */
    struct command c;
    struct gate_process gate;
    pid_t command;
    int mounts;   /* where file systems are mounted: mountinfo of the sandbox, */
    int outer;    /* and of the outside; -1: the same */
    int kept;     /* the keeper's pipe, or -1 */
    int children; /* the first process's (open_children()), or -1 */
    int listener;
    bool ended;      /* the command has; others may still be */
    bool unfinished; /* something waits until they are gone, too */
    bool working;    /* the judge is ready to be asked */
};

static void tell(const struct setup *s, enum status_kind kind, int step, int value)
{
    struct status_msg m = {(int32_t)kind, step, value};
    while (write(s->status, &m, sizeof(m)) < 0 && errno == EINTR)
        ;
}

static void __attribute__((noreturn)) fail(const struct setup *s, enum launch_step step, int err)
{
    tell(s, STATUS_FAILED, (int)step, err < 0 ? -err : err);
    _exit(1); /* the controller ends the rest */
}

static void check(const struct setup *s, enum launch_step step, int err)
{
    if (err < 0)
        fail(s, step, err);
}

/* ---- stage 0 ---- */

/* The network is still missing here: the command waits for it, and we follow. */
static void enter_init(const struct inside *in)
{
    const struct setup *s = in->s;
    const struct plan *p = s->plan;
    int flags = CLONE_NEWNS | (p->user_ns ? CLONE_NEWUSER : 0) | (p->ipc_ns ? CLONE_NEWIPC : 0) |
                (p->uts_ns ? CLONE_NEWUTS : 0);
    check(s, STEP_NAMESPACES, init_enter(s->init->pidfd, s->init->pid, in->proc, flags));
}

/* Opened while we still may look into the first process, which lies outside our walls. */
static int open_pid_namespace(const struct inside *in)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/ns/pid", in->s->init->pid);
    int fd = openat(in->proc, name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Without ground: all namespaces but the network came with our own process, empty. */
static void make_own_namespaces(const struct inside *in)
{
    struct setup *s = in->s;
    const struct plan *p = s->plan;
    if (p->mount_ns && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        fail(s, STEP_PRIVATE_MOUNTS, errno);
    if (p->mount_ns) {
        static struct terminals terminals; /* what is left of them lives as long as we do */
        check(s, STEP_TERMINALS, terminals_mount(&terminals));
        terminals_settle(&terminals);
        check(s, STEP_SHARED_MEMORY, private_shared_memory(s->launch->cwd));
        check(s, STEP_SHARED_MEMORY, p->ipc_ns ? private_queues() : 0);
    }
    if (p->net_ns) {
        check(s, STEP_NAMESPACES, unshare(CLONE_NEWNET) < 0 ? -errno : 0);
        check(s, STEP_LOOPBACK, loopback_up());
    }
}

enum { DESCRIPTORS = 64 }; /* what judging takes, with room for calls that wait */

/* The judge takes all it may have; the command gets back what it was given (command.c). */
static int raise_descriptors(struct rlimit *given)
{
    if (getrlimit(RLIMIT_NOFILE, given) < 0)
        return -errno;
    struct rlimit all = {given->rlim_max, given->rlim_max};
    if (given->rlim_max < DESCRIPTORS)
        return -EMFILE;
    return setrlimit(RLIMIT_NOFILE, &all) < 0 ? -errno : 0;
}

static void tie_to_controller(struct inside *in)
{
    struct setup *s = in->s;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != s->controller)
        _exit(1); /* it died before we were tied to it */
    role_take(ROLE_JUDGE);
    /* before anything else is started here, or could land on one of their numbers */
    for (size_t i = 0; i < s->launch->nuser_fds; i++)
        close(s->launch->user_fds[i]);
    check(s, STEP_DESCRIPTORS, raise_descriptors(&s->descriptors));
    /* first of all, so that files are ours to read in the new namespace as they were outside */
    struct host_spaces spaces = host_spaces(s->launch->host);
    if (!spaces.pid && spaces.user)
        check(s, STEP_MAP_IDS, id_maps_take(&s->maps, s->uid, s->gid));
    in->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    in->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check(s, STEP_OPEN_PROC, in->null < 0 || in->proc < 0 ? -errno : 0);
}

static int open_mounts(const struct inside *in)
{
    int fd = openat(in->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    check(in->s, STEP_OPEN_PROC, fd < 0 ? -errno : 0);
    return fd;
}

/* The filter, with a pass for the command's own start where starting programs is judged. */
static int make_filter(struct setup *s)
{
    struct plan p = *s->plan;
    struct bk_err err;
    bool asked = false;
    for (size_t i = 0; i < p.ncalls; i++)
        asked |= p.calls[i].passable;
    while (asked && p.pass == 0)
        if (getrandom(&p.pass, sizeof(p.pass), 0) < 0 && errno != EINTR)
            return -errno;
    s->pass = p.pass;
    return bpf_assemble(&p, s->filter, FILTER_MAX, &s->nfilter, &err) < 0 ? -E2BIG : 0;
}

/* Whatever can be done before the ground is there. */
static void take_policy(struct setup *s)
{
    const struct launch *l = s->launch;
    struct launch_policy policy = l->policy;
    if (!policy.plan && l->prepare(l->run, &policy) < 0)
        fail(s, STEP_POLICY, 0);
    s->plan = policy.plan;
    s->graph = policy.graph;
    s->env = l->env;
    check(s, STEP_FILTER, make_filter(s));
    inherited_list(&s->inherited, l->keep_fds, l->nkeep);
}

static void take_init(struct setup *s)
{
    check(s, STEP_INIT, init_receive(&s->taken, s->events));
    s->init = s->taken.ready >= 0 ? &s->taken : NULL;
    if (!s->init && host_spaces(s->launch->host).pid)
        fail(s, STEP_INIT, EAGAIN);
}

/* ---- guards ---- */

/* Starts the sentry, while we are as unconfined as it is to be. It becomes the controller's child,
 * which ends it. */
static void start_sentries(struct setup *s)
{
    int ends[2];
    s->sentries = -1;
    if (s->plan->nsentries == 0)
        return;
    check(s, STEP_SENTRY,
          socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0);
    struct sentries_task task = {
        .plan = s->plan,
        .graph = s->graph,
        .launch = s->launch,
        .controller = s->controller,
        .namespaces = s->init ? s->init->pidfd : -1,
        .inside = s->init ? s->init->pid : 0,
        .events = s->events,
        .judge = ends[0],
    };
    pid_t pid = sentries_start(&task);
    check(s, STEP_SENTRY, pid);
    tell(s, STATUS_SENTRY, 0, pid);
    close(ends[0]);
    s->sentries = ends[1];
}

static void send_sentries(const struct setup *s, const void *what, size_t n)
{
    /* one that is gone already has left word why */
    if (send(s->sentries, what, n, MSG_NOSIGNAL) != (ssize_t)n && errno != EPIPE)
        fail(s, STEP_SENTRY, errno);
}

/* The mounts are laid: the sentry adds its own. While it makes its file system we look where it is
 * to stand, from where we are: outside, or with no mount of its own in the way. */
static void call_sentries(const struct setup *s)
{
    struct sentries_there there = {0};
    if (s->sentries < 0)
        return;
    send_sentries(s, "", 1);
    sentries_look(s->plan, &there);
    send_sentries(s, &there, sizeof(there));
}

/* What the sentry finds under its points comes to us. */
static void take_what_lies_behind(const struct setup *s)
{
    check(s, STEP_SENTRY, guarded_paths_take(&behind));
}

static void wait_for_sentries(const struct setup *s)
{
    enum launch_step step;
    int err = guarded_paths_wait(&behind, s->plan, s->sentries, &step);
    check(s, step, err);
    take_what_lies_behind(s);
}

static int enter_start(const struct setup *s)
{
    return chdir(s->launch->start ? s->launch->start : s->launch->cwd) < 0 ? -errno : 0;
}

/* Guards take a while to be placed. Meanwhile the walls are built and the command's process is made
 * ready, which then waits for them right before it becomes the command; unless something that is
 * looked up by name on the way there may lie behind one. */
static bool can_go_ahead(const struct inside *in)
{
    const struct setup *s = in->s;
    char here[4096];
    if (s->sentries < 0 || in->c.pids < 0 || s->pass || s->plan->gate)
        return false;
    for (size_t i = 0; i < s->plan->nwalls; i++)
        if (s->plan->walls[i].loader || sentries_cover(s->plan, s->plan->walls[i].path))
            return false;
    return enter_start(s) == 0 && getcwd(here, sizeof(here)) && here[0] == '/' &&
           !sentries_cover(s->plan, here);
}

/* ---- the gate ---- */

/* As soon as the policy is known: the network is laid by the ground's first process while we start
 * those who guard and relay. */
static void order_network(struct inside *in)
{
    struct setup *s = in->s;
    struct netns_wishes wishes;
    bool roads = s->plan->gate && s->plan->net_ns;
    if (s->plan->gate)
        check(s, STEP_PUBLISH, gate_process_publish(&in->gate, s->plan));
    if (roads)
        wishes = gate_process_wishes(&in->gate, s->plan);
    if (s->init && s->init->net_ns)
        init_order(s->init, roads ? &wishes : NULL);
}

/* Without ground the network is ours to lay. */
static void take_roads(struct inside *in, struct netns_sockets *net)
{
    struct setup *s = in->s;
    enum launch_step step = STEP_GATE;
    struct netns_wishes wishes = gate_process_wishes(&in->gate, s->plan);
    int err = s->init ? init_take_roads(s->init, net, &step) : netns_network(&wishes, net);
    check(s, step, err);
}

static void enter_network(struct inside *in)
{
    struct setup *s = in->s;
    enum launch_step step;
    in->c.net = init_take_network(s->init, &step);
    check(s, step, in->c.net);
    check(s, STEP_NAMESPACES, setns(in->c.net, CLONE_NEWNET) < 0 ? -errno : 0);
    int err = init_wait_loopback(s->init, &step);
    check(s, step, err);
}

/* Where the network is filtered by name it has to be laid out before the command enters it. What is
 * ours to do comes first. */
static void set_up_gate(struct inside *in)
{
    struct setup *s = in->s;
    struct netns_sockets net;
    if (s->plan->dials)
        check(s, STEP_GATE, gate_process_listen(&in->gate));
    if (s->plan->mount_ns)
        check(s, STEP_GATE, resolver_files_mount(s->plan->dials));
    /* who can reach servers of this machine only may have proxies among them */
    if (rules_lead_out(s->graph) || s->launch->on_question || s->plan->dials) {
        s->env = gate_process_environ(&in->gate, s);
        check(s, STEP_GATE, s->env ? 0 : -ENOMEM);
    }
    if (!s->plan->net_ns)
        return;
    if (s->init)
        enter_network(in);
    take_roads(in, &net);
    check(s, STEP_GATE, gate_process_hand_over(&in->gate, &net));
}

static void phase_unconfined(struct inside *in)
{
    struct setup *s = in->s;
    enum launch_step step;
    tie_to_controller(in);
    take_policy(s);
    if (s->plan->mount_ns)
        in->outer = open_mounts(in);
    take_init(s);
    order_network(in);
    start_sentries(s);
    if (s->plan->gate)
        check(s, STEP_GATE, gate_process_start(&in->gate, s));
    if (s->init) {
        int err = init_wait_mounts(s->init, &step);
        check(s, step, err);
        call_sentries(s);
        in->c.pids = open_pid_namespace(in);
        check(s, STEP_ENTER_PIDS, in->c.pids);
        enter_init(in);
    } else {
        make_own_namespaces(in);
        call_sentries(s);
    }
    in->mounts = open_mounts(in);
    if (s->plan->mount_ns)
        check(s, STEP_KERNEL_FILES, kernel_files_make_read_only(s->plan));
    if (s->plan->mount_ns && s->plan->opt.core_dumps && s->launch->tmpdir)
        check(s, STEP_KERNEL_FILES, core_files_redirect(s->launch->tmpdir, s->launch->cwd));
    if (s->init) /* while the guards are placed, which begin from the host's mounts */
        check(s, STEP_DEVICES, devices_wall(s->plan, s->graph));
    capabilities_bound(s->plan->caps); /* the command's; forty calls, while the guards are placed */
    if (can_go_ahead(in)) {
        in->c.behind = &behind;
        return;
    }
    if (s->sentries >= 0)
        wait_for_sentries(s);
    if (!s->init)
        check(s, STEP_DEVICES, devices_wall(s->plan, s->graph));
    if (s->plan->gate)
        set_up_gate(in);
    /* by name, so that what was mounted since lies in the way */
    check(s, STEP_CWD, enter_start(s));
}

/* ---- stage 1 ---- */

static void phase_walled(struct inside *in)
{
    struct setup *s = in->s;
    check(s, STEP_LANDLOCK, landlock_walls(s->plan, &behind, in->proc, &in->c.walls));
    check(s, STEP_LANDLOCK, landlock_scope(s->plan, &in->c.scope));
    check(s, STEP_LANDLOCK, landlock_enter(in->c.walls));
}

/* ---- stage 2 ---- */

/* Without a pid namespace: through the keeper, which has the listener then. */
static void start_under_reaper(struct inside *in)
{
    struct setup *s = in->s;
    struct kept k = {.kind = REAPER_FAILED, .step = STEP_FORK, .value = EAGAIN};
    int ends[2];
    check(s, STEP_FORK,
          socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* what the keeper leaves behind is ours to end */
    pid_t judge = getpid(), reaper = fork();
    if (reaper == 0) {
        prctl(PR_SET_PDEATHSIG, REAPER_ORPHANED, 0, 0, 0);
        if (getppid() != judge)
            _exit(1);
        close(ends[0]);
        reaper_main(&in->c, in->proc, ends[1]);
    }
    close(ends[1]);
    in->kept = ends[0];
    if (reaper < 0 || fd_pass_receive(in->kept, &k, sizeof(k), &in->listener) != sizeof(k) ||
        k.kind != REAPER_COMMAND) {
        reaper_kill_all(in->proc);
        fail(s, (enum launch_step)k.step, k.value);
    }
    in->command = k.value;
    check(s, STEP_LISTENER, k.listener && in->listener < 0 ? -EBADF : 0);
}

static struct judge the_judge; /* large, and there is one in a process */
static struct file_names naming;
static struct mounts_view inner;

static void start_judge(struct inside *in)
{
    const struct setup *s = in->s;
    in->working = true;
    if (judge_init(&the_judge, s->plan, s->graph, in->listener, s->events, in->proc,
                   in->c.pids >= 0) < 0)
        fail(s, STEP_JUDGE, ENOMEM);
    the_judge.behind = &behind;
    /* names are those of the outside: what we lay over others shows nothing twice */
    file_names_open(&naming, in->outer >= 0 ? in->outer : in->mounts, s->plan->opt.mounts);
    mounts_open(&inner, in->mounts);
    the_judge.naming = &naming;
    the_judge.mounts = in->outer >= 0 ? &inner : NULL;
    the_judge.exec_judged = s->pass && !s->plan->exec_by_caller;
    the_judge.scoped = s->plan->scoped & KABI_LL_SCOPE_SIGNAL;
    the_judge.spaces = s->plan->opt.keep_userns;
    the_judge.gate = &in->gate;
    the_judge.datagrams = s->launch->nkeep > 0; /* what it was handed may be one */
    /* ways to give up capabilities that the filter does not show */
    the_judge.creds_vary =
        s->plan->host.root && (s->plan->opt.keep_userns || (s->plan->caps >> CAP_SETPCAP & 1));
    the_judge.joins = in->c.walls >= 0 || in->c.pids >= 0;
}

/* Where starting programs is judged, the command's own start is, before it: behind the filter there
 * is nobody yet who could answer. */
static void judge_command(struct inside *in)
{
    struct setup *s = in->s;
    OWN(fd) int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check(s, STEP_CWD, cwd < 0 ? -errno : 0);
    check(s, STEP_OPEN_PROC, fchdir(in->proc) < 0 ? -errno : 0);
    start_judge(in);
    check(s, STEP_EXEC, exec_first(&the_judge, cwd, s->launch->argv[0], s->first));
    check(s, STEP_CWD, fchdir(cwd) < 0 ? -errno : 0);
}

static void phase_command(struct inside *in)
{
    enum launch_step step;
    if (in->s->pass)
        judge_command(in);
    if (in->c.pids < 0) {
        start_under_reaper(in);
        return;
    }
    int err = command_start(&in->c, &in->command, &in->listener, &step);
    check(in->s, step, err);
    if (in->c.behind)
        take_what_lies_behind(in->s);
}

/* ---- the command's end ---- */

/* A file that lists the children of the first process, opened while nobody waits for it. */
static int open_children(const struct inside *in)
{
    char name[64];
    pid_t init = in->s->init->pid;
    snprintf(name, sizeof(name), "%d/task/%d/children", init, init);
    return openat(in->proc, name, O_RDONLY | O_CLOEXEC);
}

/* Whether nobody is left but the first process: whoever survived the command would be its child by
 * now, or descend from one. */
static bool is_first_alone(const struct inside *in)
{
    char byte;
    return in->children >= 0 && read(in->children, &byte, 1) == 0;
}

/* Does what could not be done while somebody of the sandbox might undo it. */
static void finish(struct inside *in)
{
    if (in->unfinished)
        git_finish(&the_judge);
    in->unfinished = false;
}

/* With a pid namespace its first process takes all others along, or waits for them; the controller
 * hears when it is gone, and ends us. Until then their calls are answered. */
static void take_status(struct inside *in, int status)
{
    const struct init *g = in->s->init;
    if (WIFSTOPPED(status)) {
        tell(in->s, STATUS_STOPPED, 0, status);
        return;
    }
    in->ended = true;
    if (the_judge.datagrams)
        datagram_drain();
    bool alone = !g || is_first_alone(in);
    in->unfinished = in->working && git_has_unfinished(&the_judge);
    if (alone)
        finish(in);
    if (g && !(alone && launch_leaves_all(in->s->launch)))
        kill(g->pid, in->s->launch->wait_all ? SIGUSR1 : SIGKILL);
    tell(in->s, STATUS_EXITED,
         (g && alone ? EXITED_ALONE : 0) | (in->unfinished ? EXITED_UNFINISHED : 0), status);
    if (!g)
        _exit(0);
}

static void hear_child(struct inside *in)
{
    int status;
    while (in->kept < 0 && !in->ended && waitpid(in->command, &status, WNOHANG | WUNTRACED) > 0)
        take_status(in, status);
}

static void hear_reaper(struct inside *in)
{
    struct kept k;
    ssize_t n = read(in->kept, &k, sizeof(k));
    if (n == sizeof(k))
        take_status(in, k.value);
    else if (n == 0 || errno != EINTR) {
        reaper_kill_all(in->proc);
        _exit(1); /* the keeper is gone, and with it the command */
    }
}

/* ---- stage 3 ---- */

static void phase_judging(struct inside *in)
{
    struct setup *s = in->s;
    if (in->c.net >= 0 && !s->plan->gate)
        check(s, STEP_NAMESPACES, setns(in->c.net, CLONE_NEWNET) < 0 ? -errno : 0);
    /* it must be able to look into processes that have become somebody else, or that Yama takes for
     * strangers; those outside its user namespace or Landlock domain stay out of its reach */
    bool bounded = s->plan->user_ns || in->c.walls >= 0;
    uint64_t look_in = bounded ? UINT64_C(1) << CAP_SYS_PTRACE : 0;
    check(s, STEP_CAPABILITIES, capabilities_drop(s->plan->caps | look_in));
    check(s, STEP_OPEN_PROC, fchdir(in->proc) < 0 ? -errno : 0);
    the_judge.handed = isatty(STDIN_FILENO);
    for (int fd = 0; fd <= 2; fd++) /* the command's, which may close them */
        dup2(in->null, fd);
    if (s->init)
        in->children = open_children(in);
    /* all of ours are laid, and none of them is news */
    poll(&(struct pollfd){in->mounts, POLLPRI, 0}, 1, 0);
    if (in->listener < 0)
        return;
    if (s->plan->host.notify_sync)
        ioctl(in->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    the_judge.listener = in->listener;
}

/* Passed on first: who makes a graph of it does not depend on us. */
static bool hear_policy(struct inside *in)
{
    struct setup *s = in->s;
    struct graph *g;
    struct policy_update what;
    OWN(fd) int sealed = -1;
    int heard = policy_update_receive(s->events, s->launch, &g, &what, &sealed);
    if (heard != RENEW_POLICY)
        return heard >= 0;
    if (s->sentries >= 0)
        policy_update_send(s->sentries, what.number, sealed);
    if (s->plan->gate)
        policy_update_send(in->gate.to, what.number, sealed);
    if (in->listener >= 0 && !in->working)
        start_judge(in);
    if (in->listener < 0)
        graph_free(g);
    else if (judge_update(&the_judge, g) == 0)
        event_policy(what.number);
    return true;
}

/* Nobody is left who could call. */
static int hear_nobody(struct inside *in)
{
    if (in->ended && in->unfinished) {
        finish(in);
        tell(in->s, STATUS_FINISHED, 0, 0);
    }
    return -1;
}

static volatile sig_atomic_t child_changed = 1; /* looked at once before the first wait */

static void on_child(int sig)
{
    (void)sig;
    child_changed = 1;
}

/* How long to wait at most for the next call. */
static const struct timespec *pause_of(const struct judge *w)
{
    static struct timespec held;
    const struct timespec *exec = exec_pause(w);
    held.tv_nsec = w->git.nheld ? git_pause(w) : 0;
    return exec || !held.tv_nsec ? exec : &held;
}

/* One thread answers calls and hears of the command's end. SIGCHLD gets through while waiting and
 * at no other time, so none is missed. */
static void __attribute__((noreturn)) attend(struct inside *in)
{
    struct sigaction child = {.sa_handler = on_child};
    sigset_t waiting;
    sigfillset(&waiting);
    sigdelset(&waiting, SIGCHLD);
    sigaction(SIGCHLD, &child, NULL);
    struct pollfd fds[] = {{in->listener, POLLIN, 0},
                           {in->kept, POLLIN, 0},
                           {in->s->sentries, POLLIN, 0},
                           {in->s->launch->compile ? in->s->events : -1, POLLIN, 0},
                           {in->mounts, POLLPRI, 0},
                           {in->outer, POLLPRI, 0},
                           {-1, POLLIN, 0}};
    for (;;) {
        if (child_changed) {
            child_changed = 0;
            hear_child(in);
        }
        fds[6].fd = wait_events();
        int n = ppoll(fds, 7, wait_pause(pause_of(&the_judge)), &waiting);
        exec_look(&the_judge, 0);
        wait_look(&the_judge);
        if (the_judge.git.nheld)
            git_sync(&the_judge);
        if (n <= 0)
            continue;
        if ((fds[4].revents | fds[5].revents) & POLLPRI) {
            naming.mounts.current = inner.current = false;
            the_judge.mounts_change = true;
        }
        if (fds[2].revents && !guarded_paths_hear(&behind))
            fds[2].fd = -1; /* the controller knows */
        if (fds[3].revents && !hear_policy(in))
            fds[3].fd = -1; /* we end with the controller */
        /* not before somebody asks: many commands end without */
        if (!in->working && (fds[0].revents & POLLIN))
            start_judge(in);
        if (fds[6].revents)
            wait_hear(&the_judge);
        if (fds[0].revents & POLLIN)
            judge_answer(&the_judge);
        else if (fds[0].revents & (POLLHUP | POLLNVAL)) /* POLLERR: a signal came between */
            fds[0].fd = hear_nobody(in);
        if (fds[1].revents)
            hear_reaper(in);
    }
}

void judge_main(struct setup *s)
{
    struct inside in = {.s = s,
                        .proc = -1,
                        .null = -1,
                        .mounts = -1,
                        .outer = -1,
                        .kept = -1,
                        .children = -1,
                        .listener = -1};
    in.c = (struct command){.s = s, .walls = -1, .scope = -1, .pids = -1, .net = -1};
    phase_unconfined(&in);
    phase_walled(&in);
    phase_command(&in);
    tell(s, STATUS_STARTED, 0, in.command);
    phase_judging(&in);
    attend(&in);
}
