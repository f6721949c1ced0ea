/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The judge's process, in phases. Each has things that it should and must not do.
 *
 * Unconfined (judge-setup.c): should enter the namespaces that init made for the sandbox, and open
 * what the walls will hide. Must not read anything that the command controls.
 *
 * Walled (judge-setup.c): should enter the Landlock wall, which bounds whatever the judge does for
 * the command from then on. Must not keep a descriptor that leads around it.
 *
 * Starting the command: as a child of the walled process (command.c), so that its own Landlock
 * layer is inside the judge's. The judge can read the command's memory, but not the other way
 * round.
 *
 * Judging: should answer calls without capabilities. Must not allocate per call, nor let the kernel
 * perform a call whose arguments can still change.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/handle-datagram.h"
#include "kernel/judge/handle-exec.h"
#include "kernel/judge/judge-setup.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/policy-update.h"

/* ---- starting the command ---- */

/* Without a pid namespace, the reaper starts the command and passes the listener here. */
static void start_under_reaper(struct judge_process *in)
{
    struct setup *s = in->s;
    struct reaper_message k = {.kind = REAPER_FAILED, .step = STEP_FORK, .value = EAGAIN};
    int ends[2];
    judge_check(s, STEP_FORK,
                socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* to kill what the reaper leaves */
    pid_t judge = getpid(), reaper = fork();
    if (reaper == 0) {
        prctl(PR_SET_PDEATHSIG, REAPER_ORPHANED, 0, 0, 0);
        if (getppid() != judge)
            _exit(1);
        close(ends[0]);
        reaper_main(&in->c, in->proc, ends[1]);
    }
    close(ends[1]);
    in->reaper = ends[0];
    if (reaper < 0 || fd_pass_receive(in->reaper, &k, sizeof(k), &in->listener) != sizeof(k) ||
        k.kind != REAPER_COMMAND) {
        reaper_kill_all(in->proc);
        judge_fail(s, (enum launch_step)k.step, k.value);
    }
    in->command = k.value;
    judge_check(s, STEP_LISTENER, k.listener && in->listener < 0 ? -EBADF : 0);
}

static struct judge the_judge; /* large, and a process has only one */
static struct guarded_paths guarded;
static struct layers layers;
static struct file_names names;
static struct mounts_view inner;

static void start_judge(struct judge_process *in)
{
    const struct setup *s = in->s;
    in->ready = true;
    if (judge_init(&the_judge, s->plan, s->graph,
                   &(struct judge_start){.listener = in->listener,
                                         .events = s->events,
                                         .proc = in->proc,
                                         .pid_ns = in->c.pids >= 0,
                                         .record = in->record,
                                         .cwd = s->launch->users_folder ? s->launch->users_folder
                                                                        : s->launch->cwd}) < 0)
        judge_fail(s, STEP_JUDGE, ENOMEM);
    /* only the record has what commands of the outer sandbox moved and removed */
    the_judge.own_folders.full = s->launch->own_record && in->record < 0;
    the_judge.pid_depth = s->init ? s->init->depth + 1 : 0;
    the_judge.guarded = in->guarded;
    the_judge.layers = in->layers->n ? in->layers : NULL;
    questions_begin(&the_judge.questions, s->questions, s->launch->ask_ms);
    /* from the outside: our own mounts give files no second name */
    file_names_open(&names, in->outer >= 0 ? in->outer : in->mounts, s->plan->opt.mounts);
    mounts_open(&inner, in->mounts);
    the_judge.names = &names;
    the_judge.mounts = in->outer >= 0 ? &inner : NULL;
    the_judge.execs.judged = s->pass && !s->plan->exec_by_caller && !s->plan->commands_only;
    the_judge.scoped = s->plan->scoped & KABI_LL_SCOPE_SIGNAL;
    the_judge.makes_user_ns = s->plan->opt.keep_userns;
    the_judge.nests = s->launch->on_nest != NULL;
    the_judge.net.gate = &in->gate;
    the_judge.net.host = in->host;
    the_judge.net.datagrams = s->launch->nkeep > 0; /* an inherited descriptor may be one */
    /* it can drop capabilities in ways that the filter does not see */
    the_judge.creds.vary =
        s->plan->host.root && (s->plan->opt.keep_userns || (s->plan->caps >> CAP_SETPCAP & 1));
    the_judge.joins_user_ns = in->c.walls >= 0 || in->c.pids >= 0;
}

/* Prepares the judge before the command starts. If execve() is judged, judges the command's own
 * start as well: behind the filter, no process could answer yet. */
static void judge_in_advance(struct judge_process *in)
{
    struct setup *s = in->s;
    OWN(fd) int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    judge_check(s, STEP_CWD, cwd < 0 ? -errno : 0);
    judge_check(s, STEP_OPEN_PROC, fchdir(in->proc) < 0 ? -errno : 0);
    start_judge(in);
    if (s->pass)
        judge_check(s, STEP_EXEC, exec_judge_command(&the_judge, cwd, s->launch->argv, s->first));
    judge_check(s, STEP_CWD, fchdir(cwd) < 0 ? -errno : 0);
}

/* There is time for what the first call would need. */
static void prepare_to_hold(struct judge_process *in)
{
    /* what is judged before it starts must be known then, and the reaper can't wait */
    if (in->s->pass || in->c.pids < 0)
        judge_fail(in->s, STEP_HOLD, ENOTSUP);
    if (!in->s->plan->judge)
        return;
    judge_in_advance(in);
    mounts_now(&names.mounts, true);
    mounts_now(&inner, true);
}

static void phase_command(struct judge_process *in)
{
    enum launch_step step;
    if (in->s->launch->on_held)
        prepare_to_hold(in);
    else if (in->s->pass)
        judge_in_advance(in);
    if (in->c.pids < 0) {
        start_under_reaper(in);
        return;
    }
    int err = command_start(&in->c, &in->command, &in->listener, &step);
    judge_check(in->s, step, err);
    if (in->c.guarded)
        judge_take_guarded(in);
}

/* ---- the end of the command ---- */

/* Opens the list of init's children early, when no one waits for it. */
static int open_children(const struct judge_process *in)
{
    char name[64];
    pid_t init = in->s->init->pid;
    snprintf(name, sizeof(name), "%d/task/%d/children", init, init);
    return openat(in->proc, name, O_RDONLY | O_CLOEXEC);
}

/* Whether init is the only process left: processes that survive the command become children of
 * init, or descend from one. */
static bool is_init_alone(const struct judge_process *in)
{
    char byte;
    return in->children >= 0 && read(in->children, &byte, 1) == 0;
}

/* Does what a process of the sandbox could otherwise have undone. */
static void finish_work(struct judge_process *in)
{
    if (in->unfinished)
        git_finish(&the_judge);
    in->unfinished = false;
}

/* With a pid namespace, init either kills the other processes by exiting or waits for them. The
 * controller notices when init is gone, and kills the judge; until then it answers calls. */
static void handle_exit_status(struct judge_process *in, int status)
{
    const struct init *init = in->s->init;
    if (WIFSTOPPED(status)) {
        judge_report_status(in->s, STATUS_STOPPED, 0, status);
        return;
    }
    in->ended = true;
    if (the_judge.net.datagrams)
        datagram_drain();
    bool alone = !init || is_init_alone(in);
    if (in->s->plan->gate && (alone || !in->s->launch->wait_all))
        gate_process_end(&in->gate);
    in->unfinished = in->ready && git_has_unfinished(&the_judge);
    if (alone)
        finish_work(in);
    if (init && !(alone && launch_leaves_all(in->s->launch)))
        kill(init->pid, in->s->launch->wait_all ? SIGUSR1 : SIGKILL);
    judge_report_status(
        in->s, STATUS_EXITED,
        (init && alone ? EXITED_ALONE : 0) | (in->unfinished ? EXITED_UNFINISHED : 0), status);
    if (!init && !launch_stays(in->s->launch))
        _exit(0);
}

/* Whether it has exited, and with which status (waitpid). It stays a zombie: to free one takes up
 * to 100 us, which those who wait for the status need not wait for. */
static bool has_exited(pid_t pid, int *status)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 || !end.si_pid)
        return false;
    *status = end.si_code == CLD_EXITED   ? end.si_status << 8
              : end.si_code == CLD_DUMPED ? end.si_status | WCOREFLAG
                                          : end.si_status;
    return true;
}

static void reap_command(struct judge_process *in)
{
    int status;
    if (in->reaper >= 0 || in->ended)
        return;
    if (has_exited(in->command, &status))
        handle_exit_status(in, status);
    while (waitpid(in->command, &status, WNOHANG | WUNTRACED) > 0)
        if (!in->ended)
            handle_exit_status(in, status);
}

static void receive_from_reaper(struct judge_process *in)
{
    struct reaper_message k;
    ssize_t n = read(in->reaper, &k, sizeof(k));
    if (n == sizeof(k))
        handle_exit_status(in, k.value);
    else if (n == 0 || errno != EINTR) {
        reaper_kill_all(in->proc);
        _exit(1); /* the reaper is gone, and so is the command */
    }
}

/* ---- judging ---- */

static void phase_judging(struct judge_process *in)
{
    struct setup *s = in->s;
    if (in->c.net >= 0 && !s->plan->gate)
        judge_check(s, STEP_NAMESPACES, setns(in->c.net, CLONE_NEWNET) < 0 ? -errno : 0);
    judge_check(s, STEP_NAMESPACES, judge_leave_sentries(in));
    /* to read processes that changed their credentials, or that Yama would hide; its user namespace
     * or Landlock domain keeps it from all others */
    bool bounded = s->plan->user_ns || in->c.walls >= 0;
    uint64_t ptrace = bounded ? UINT64_C(1) << CAP_SYS_PTRACE : 0;
    judge_check(s, STEP_CAPABILITIES, capabilities_drop(s->plan->caps | ptrace));
    judge_check(s, STEP_OPEN_PROC, fchdir(in->proc) < 0 ? -errno : 0);
    the_judge.terminal.handed = isatty(STDIN_FILENO);
    the_judge.terminal.caller = s->launch->caller;
    for (int fd = 0; fd <= 2; fd++) /* they are the command's, which may close them */
        dup2(in->null, fd);
    if (s->init)
        in->children = open_children(in);
    /* forget the changes that our own mounts made */
    poll(&(struct pollfd){in->mounts, POLLPRI, 0}, 1, 0);
    if (in->listener < 0)
        return;
    if (s->plan->commands)
        commands_root(&the_judge, in->command);
    if (s->plan->host.notify_sync)
        ioctl(in->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    the_judge.listener = in->listener;
}

/* Receives a policy update. Passes it on first, so that sentry and gate compile it at the same
 * time. Returns false if the controller is gone. */
static bool receive_policy_update(struct judge_process *in)
{
    struct setup *s = in->s;
    struct graph *g;
    struct policy_update what;
    OWN(fd) int sealed = -1;
    int kind = policy_update_receive(s->events, s->launch, &g, &what, &sealed);
    if (kind != UPDATE_POLICY)
        return kind >= 0;
    if (s->sentries >= 0)
        policy_update_send(s->sentries, what.number, sealed);
    if (s->plan->gate)
        policy_update_send(in->gate.to, what.number, sealed);
    if (in->listener >= 0 && !in->ready)
        start_judge(in);
    if (in->listener < 0)
        graph_free(g);
    else if (judge_update(&the_judge, g) == 0)
        event_policy(what.number);
    return true;
}

/* No process is left that could call. Returns -1, to poll instead of the listener. */
static int close_listener(struct judge_process *in)
{
    if (in->ended && in->unfinished) {
        finish_work(in);
        judge_report_status(in->s, STATUS_FINISHED, 0, 0);
    }
    return -1;
}

static volatile sig_atomic_t child_changed = 1; /* check once before the first wait */

static void on_child(int sig)
{
    (void)sig;
    child_changed = 1;
}

/* How long to wait for the next call at most; NULL: for ever. */
static const struct timespec *loop_timeout(const struct judge *j)
{
    static struct timespec git;
    const struct timespec *exec = exec_timeout(j);
    git.tv_nsec = j->git.nheld ? git_timeout_ns(j) : 0;
    return exec || !git.tv_nsec ? exec : &git;
}

/* One thread answers calls and reaps the command. SIGCHLD is unblocked only during ppoll(), so it
 * is never missed. */
static void __attribute__((noreturn)) judge_loop(struct judge_process *in)
{
    struct sigaction child = {.sa_handler = on_child};
    sigset_t waiting;
    sigfillset(&waiting);
    sigdelset(&waiting, SIGCHLD);
    sigaction(SIGCHLD, &child, NULL);
    struct pollfd fds[] = {{in->listener, POLLIN, 0},
                           {in->reaper, POLLIN, 0},
                           {in->s->sentries, POLLIN, 0},
                           {in->s->launch->compile ? in->s->events : -1, POLLIN, 0},
                           {in->mounts, POLLPRI, 0},
                           {in->outer, POLLPRI, 0},
                           {-1, POLLIN, 0},
                           {in->s->questions, POLLIN, 0}};
    for (;;) {
        if (child_changed) {
            child_changed = 0;
            reap_command(in);
        }
        fds[6].fd = wait_event_fd();
        int n = ppoll(fds, 8, wait_timeout(loop_timeout(&the_judge)), &waiting);
        exec_check_watched(&the_judge, 0);
        wait_retry(&the_judge);
        if (the_judge.git.nheld)
            git_sync(&the_judge);
        if (n <= 0)
            continue;
        if ((fds[4].revents | fds[5].revents) & POLLPRI) {
            names.mounts.current = inner.current = false;
            the_judge.mounts_changed = true;
        }
        if (fds[2].revents && !guarded_paths_receive(in->guarded))
            fds[2].fd = -1; /* the controller notices by itself */
        if (fds[3].revents && !receive_policy_update(in))
            fds[3].fd = -1; /* the judge dies with the controller */
        /* only at the first call: many commands make none */
        if (!in->ready && (fds[0].revents & POLLIN))
            start_judge(in);
        if (fds[6].revents)
            wait_read_events(&the_judge);
        if (fds[7].revents && !questions_receive(&the_judge.questions))
            fds[7].fd = -1;
        if (fds[0].revents & POLLIN)
            judge_next(&the_judge);
        else if (fds[0].revents & (POLLHUP | POLLNVAL)) /* POLLERR: a signal interrupted it */
            fds[0].fd = close_listener(in);
        if (fds[1].revents)
            receive_from_reaper(in);
    }
}

void judge_main(struct setup *s)
{
    struct judge_process in = {.s = s,
                               .guarded = &guarded,
                               .layers = &layers,
                               .proc = -1,
                               .null = -1,
                               .record = -1,
                               .mounts = -1,
                               .outer = -1,
                               .reaper = -1,
                               .children = -1,
                               .listener = -1};
    in.c = (struct command){.s = s, .walls = -1, .scope = -1, .pids = -1, .net = -1};
    judge_phase_unconfined(&in);
    judge_phase_walled(&in);
    phase_command(&in);
    judge_report_status(s, STATUS_STARTED,
                        (s->kept ? STARTED_KEPT : 0) |
                            (in.guarded->changed && s->plan->nsearches ? STARTED_SEARCHED : 0),
                        in.command);
    phase_judging(&in);
    judge_loop(&in);
}
