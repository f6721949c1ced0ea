/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The controller. It starts the judge and then only listens: to events, to the status of the
 * command, and to signals, which it passes on. It never resolves a path of the command.
 */

#include "kernel/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/launch/held.h"
#include "kernel/launch/job-control.h"
#include "kernel/launch/nest.h"
#include "command/pause.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/policy-update.h"
#include "kernel/shared/setup.h"
#include "net/consent.h"

static const struct {
    const char *words;
    enum bk_remedy remedy;
    const char *hint;
} steps[] = {
    [STEP_NONE] = {"starting", REMEDY_NONE, ""},
#define STEP(id, words, remedy, hint) [STEP_##id] = {words, REMEDY_##remedy, hint},
#include "command/steps.def"
#undef STEP
};

/* Signals that are meant for the command when a process sends them to us. From the terminal they
 * reach the command directly. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
/* What the kernel sends to a background group that uses the terminal. */
static const int from_terminal[] = {SIGTTIN, SIGTTOU};

enum { KILL_GRACE_MS = 2000 };

struct control {
    const struct launch *l;
    struct launch_end *end;
    pid_t judge, command, sentry; /* the sentry's pid; 0: none */
    int sentry_fd;                /* of the sentry */
    int status, events, signals;
    int asks;      /* from and to the gate, or -1 */
    int questions; /* the same for the judge */
    int hold;      /* to a command that waits for launch_release(), or -1 */
    int terminal;  /* or -1 */
    int nested;    /* what on_nested() waits for, or -1 */
    sigset_t mask;
    uint64_t deadline;     /* of the timeout, then of the grace period; 0: none */
    struct init *init;     /* NULL when there is none */
    bool ending;           /* the command exited; init kills what is left */
    bool exited, lost;     /* nothing is left; the judge exited first */
    bool alone;            /* when the command exited, only our own processes were left */
    bool left;             /* on_exit was called */
    bool killed;           /* init was killed, because of the timeout */
    bool gone, unfinished; /* now only our own processes are left; the judge still cleans up */
    bool unguarded;        /* the sentry exited */
    bool held;             /* the command waits */
    int held_mounts;       /* held.h; -1: none */
    bool others_ended;     /* nothing more comes from other_events */
    const char *program;   /* its first word */
    struct event event;
    unsigned char wire[sizeof(struct event)];
};

/* ---- receiving ---- */

/* A process inside wants a sandbox of its own; what comes with it is its pidfd and a socket. */
static void receive_asker(struct control *c, const void *bytes, size_t n, const int *fds)
{
    struct nest_asked asked;
    memcpy(&asked, bytes, n == sizeof(asked) ? n : 0);
    if (n == sizeof(asked) && asked.magic == NEST_MAGIC && c->l->on_nest && !c->ending)
        c->nested = c->l->on_nest(c->l->run, fds[0], fds[1], c->init);
    close(fds[0]);
    close(fds[1]);
}

static void receive_events(struct control *c)
{
    for (;;) {
        int fds[2] = {-1, -1};
        size_t nfds;
        ssize_t n = fd_pass_poll_many(c->events, c->wire, sizeof(c->wire), fds, 2, &nfds);
        if (n <= 0)
            return;
        if (nfds == 2)
            receive_asker(c, c->wire, (size_t)n, fds);
        else if (nfds)
            close(fds[0]);
        else if (event_from_wire(c->wire, (size_t)n, &c->event) == 0 && c->l->on_event)
            c->l->on_event(c->l->arg, &c->event);
    }
}

/* Only events: such a process asks for nothing. */
static void receive_others(struct control *c)
{
    ssize_t n = -1;
    while (!c->others_ended && c->l->other_events &&
           (n = recv(*c->l->other_events, c->wire, sizeof(c->wire), MSG_DONTWAIT)) > 0)
        if (event_from_wire(c->wire, (size_t)n, &c->event) == 0 && c->l->on_event)
            c->l->on_event(c->l->arg, &c->event);
    c->others_ended = c->others_ended || n == 0;
}

static void receive_question(const struct control *c, int *from,
                             void (*on_question)(void *, const struct consent_question *, int))
{
    char bytes[sizeof(struct consent_question) + 1];
    struct consent_question q;
    ssize_t n = recv(*from, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        *from = -1; /* gate or judge is gone, which is reported elsewhere */
    else if (consent_question_read(bytes, (size_t)n, &q))
        on_question(c->l->arg, &q, *from);
}

/* ---- the command ---- */

/* The command has ended, and other processes go on. */
static void leave_command(struct control *c)
{
    receive_events(c);
    c->left = true;
    c->deadline = 0;
    job_take_back(c->l, c->terminal);
    if (c->l->on_last_words)
        c->l->on_last_words(c->l->arg, c->end);
    c->l->on_exit(c->end);
}

/* What a signal or the timeout ended was to end with everything it had started. */
static void end_others(struct control *c)
{
    c->exited = !c->init;
    if (c->init)
        kill(c->init->pid, SIGKILL);
}

static bool is_cut_short(const struct control *c)
{
    return !c->l->leaves && (!WIFEXITED(c->end->status) || c->end->timed_out);
}

static void receive_status(struct control *c)
{
    struct status_msg m;
    ssize_t n = read(c->status, &m, sizeof(m));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n != sizeof(m)) {
        c->lost = !c->ending;
        c->exited = c->lost || !c->init || c->gone;
        c->status = -1;
        return;
    }
    switch (m.kind) {
    case STATUS_HELD:
        c->held = true;
        c->held_mounts = c->init ? held_mounts_open(c->init->pid) : -1;
        c->l->on_held(c->l->arg);
        break;
    case STATUS_STARTED:
        c->command = m.value;
        pause_begin(c->init ? c->init->pid : 0, m.value);
        if (c->l->on_start)
            c->l->on_start(c->l->arg);
        if (c->l->give_stdio)
            job_release_stdio();
        if (c->l->started)
            c->l->started(c->l->run, m.step & STARTED_KEPT, m.step & STARTED_SEARCHED);
        break;
    case STATUS_SENTRY: /* our child, so its pid stays valid until we reap it */
        c->sentry = m.value;
        c->sentry_fd = (int)syscall(SYS_pidfd_open, m.value, 0);
        break;
    case STATUS_STOPPED:
        job_mirror_stop(c->l, c->terminal, c->command);
        break;
    case STATUS_EXITED:
        c->end->status = m.value;
        c->command = 0; /* its pid may be reused soon */
        c->ending = true;
        c->alone = m.step & EXITED_ALONE;
        c->unfinished = m.step & EXITED_UNFINISHED;
        c->exited = c->init ? c->alone : !launch_stays(c->l);
        if (launch_stays(c->l) && is_cut_short(c))
            end_others(c);
        else if (launch_stays(c->l) && !c->exited)
            leave_command(c);
        break;
    case STATUS_FINISHED:
        c->unfinished = false;
        c->exited = c->gone;
        break;
    default: /* the command's own exit status follows if it had started */
        c->exited = c->command == 0 && !c->ending;
        c->end->step = (enum launch_step)(m.step > 0 && m.step < STEP_COUNT ? m.step : 0);
        c->end->sys = m.value;
    }
}

static void receive_signal(struct control *c)
{
    struct signalfd_siginfo si;
    if (read(c->signals, &si, sizeof(si)) != sizeof(si))
        return;
    if (si.ssi_signo == SIGTTIN || si.ssi_signo == SIGTTOU) {
        job_stopped(c->l, c->terminal, (int)si.ssi_signo);
        return;
    }
    /* what we send to the terminal's group ourselves has reached it */
    if (si.ssi_code <= 0 && c->command > 0 && si.ssi_pid != (uint32_t)getpid())
        kill(c->command, (int)si.ssi_signo);
}

/* ---- waiting ---- */

/* A process that waits for a stopped sentry cannot be killed, so the sentry goes first. */
static void end_sentry(struct control *c, bool wait)
{
    if (c->sentry <= 0)
        return;
    kill(c->sentry, SIGKILL);
    while (wait && waitpid(c->sentry, NULL, 0) < 0 && errno == EINTR)
        ;
    if (c->sentry_fd >= 0)
        close(c->sentry_fd);
    c->sentry = 0;
    c->sentry_fd = -1;
}

static void handle_timeout(struct control *c)
{
    if (!c->end->timed_out && c->command > 0) {
        c->end->timed_out = true;
        c->deadline = now_ms() + KILL_GRACE_MS;
        kill(c->command, SIGTERM);
        return;
    }
    c->end->timed_out = true;
    c->deadline = 0;
    end_sentry(c, false);
    if (c->held && c->init) /* the judge waits for it */
        kill(c->init->pid, SIGKILL);
    /* init's exit kills all others, and the judge cleans up after them */
    if (c->init && c->command > 0 && !c->ending && !c->killed) {
        c->killed = true;
        c->deadline = now_ms() + KILL_GRACE_MS;
        kill(c->init->pid, SIGKILL);
        return;
    }
    kill(c->judge, SIGKILL);
}

static int time_left(const struct control *c)
{
    uint64_t now = c->deadline ? now_ms() : 0;
    if (!c->deadline)
        return -1;
    return c->deadline > now ? (int)(c->deadline - now) : 0;
}

/* Without its sentry the sandbox does not continue. Before the command has started, the judge
 * notices by itself and knows more. */
static void lose_sentry(struct control *c)
{
    c->exited = c->lost = c->unguarded = true;
}

static void serve_until_exit(struct control *c)
{
    struct pollfd fds[] = {
        {-1, POLLIN, 0}, {c->events, POLLIN, 0}, {c->signals, POLLIN, 0},
        {-1, POLLIN, 0}, {-1, POLLIN, 0},        {c->l->on_input ? c->l->input_fd : -1, POLLIN, 0},
        {-1, POLLIN, 0}, {-1, POLLIN, 0},        {-1, POLLIN, 0},
        {-1, POLLIN, 0}};
    while (!c->exited) {
        /* a signal that arrives early stays pending */
        fds[2].fd = c->command > 0 ? c->signals : -1;
        fds[0].fd = c->status;
        fds[3].fd = c->ending && c->init && !c->gone ? c->init->pidfd : -1;
        fds[4].fd = c->command > 0 ? c->sentry_fd : -1;
        fds[6].fd = c->asks;
        fds[7].fd = c->nested;
        fds[8].fd = c->questions;
        fds[9].fd = c->l->other_events && !c->others_ended ? *c->l->other_events : -1;
        int n = poll(fds, 10, time_left(c));
        if (n < 0 && errno != EINTR)
            break;
        if (n == 0) {
            handle_timeout(c);
            continue;
        }
        if (fds[1].revents)
            receive_events(c);
        if (fds[0].revents)
            receive_status(c);
        if (fds[2].revents)
            receive_signal(c);
        if (fds[6].revents)
            receive_question(c, &c->asks, c->l->on_question);
        if (fds[7].revents)
            c->l->on_nested(c->l->run);
        if (fds[8].revents)
            receive_question(c, &c->questions, c->l->on_protected);
        if (fds[9].revents)
            receive_others(c);
        if (fds[3].revents) {
            c->gone = true;
            c->exited = !c->unfinished;
        }
        if (fds[4].revents && !c->exited)
            lose_sentry(c);
        if (fds[5].revents & POLLIN)
            c->l->on_input(c->l->arg);
        else if (fds[5].revents)
            fds[5].fd = -1;
    }
    receive_events(c);
    receive_others(c);
    if (c->alone && !c->lost && launch_leaves_all(c->l))
        return; /* all of them die with us */
    end_sentry(c, c->lost || !c->l->leave_judge);
    kill(c->judge, SIGKILL);
    /* when the command exited by itself its processes are gone; the judge only has to release what
     * the kernel keeps for it, which takes too long to wait for */
    if (!c->lost && c->l->leave_judge)
        return;
    while (waitpid(c->judge, NULL, 0) < 0 && errno == EINTR)
        ;
    receive_events(c);
}

/* ---- starting ---- */

/* Only clone3() can start a process in another cgroup. */
static pid_t clone_into(int cgroup, unsigned long flags)
{
    struct clone_args args = {.flags = (flags & ~(unsigned long)SIGCHLD) | CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)cgroup};
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int start_judge(struct control *c, struct setup *s)
{
    struct host_spaces spaces = host_spaces(c->l->host);
    unsigned long flags = SIGCHLD;
    if (!spaces.pid) {
        flags |= spaces.user ? CLONE_NEWUSER : 0;
        flags |= spaces.mount ? CLONE_NEWNS : 0;
        flags |= spaces.ipc ? CLONE_NEWIPC : 0;
        flags |= spaces.uts ? CLONE_NEWUTS : 0;
    }
    int err = id_maps_open(&s->maps, flags & CLONE_NEWUSER);
    if (err < 0)
        return err;
    OWN(fd)
    int mounts = flags & CLONE_NEWNS ? open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) : -1;
    if (flags & CLONE_NEWNS && mounts < 0)
        return -errno;
    s->host_mounts = mounts;
    c->judge = c->l->cgroup >= 0 ? clone_into(c->l->cgroup, flags)
                                 : (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (c->judge == 0)
        judge_main(s);
    err = c->judge < 0 ? -errno : 0;
    id_maps_give(&s->maps, c->judge); /* when that fails, the judge reports it */
    return err;
}

static int word_failure(const struct control *c, struct bk_err *err)
{
    const struct launch_end *end = c->end;
    errno = end->sys;
    if (end->step == STEP_EXEC)
        err_sys(err, "cannot run %s", c->program);
    else
        err_sys(err, "%s failed", steps[end->step].words);
    if (steps[end->step].remedy)
        err_remedy(err, steps[end->step].remedy);
    else if (steps[end->step].hint[0])
        err_hint(err, "%s", steps[end->step].hint);
    return -1;
}

/* Starts init, if the caller has not, and lets the caller prepare, while the judge works on the
 * policy. */
static int prepare_init(struct control *c, struct bk_err *err)
{
    const struct launch *l = c->l;
    struct init *g = c->init;
    if (host_spaces(l->host).pid && !g->pid && g->ready < 0)
        init_start(g, l->host, l->cwd, l->prepared);
    if (l->meanwhile && l->meanwhile(l->run, err) < 0)
        return -1;
    init_send(g, c->events); /* a judge that exited has reported why, or we notice soon */
    if (g->ready < 0)
        c->init = NULL;
    return 0;
}

static int give_up(const struct control *c)
{
    kill(c->judge, SIGKILL);
    while (waitpid(c->judge, NULL, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

static int launch_with_sockets(struct control *c, struct setup *s, struct bk_err *err)
{
    int status[2], events[2], asks[2] = {-1, -1}, questions[2] = {-1, -1};
    s->hold[0] = s->hold[1] = -1;
    if (c->l->on_held && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->hold) < 0)
        return err_sys(err, "socketpair");
    OWN(fd) int hold = s->hold[0];
    OWN(fd) int release = s->hold[1];
    c->hold = release;
    if (pipe2(status, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    OWN(fd) int status_in = status[0];
    OWN(fd) int status_out = status[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events) < 0)
        return err_sys(err, "socketpair");
    OWN(fd) int events_in = events[0];
    OWN(fd) int events_out = events[1];
    if (c->l->on_question && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks) < 0)
        return err_sys(err, "socketpair");
    OWN(fd) int asks_in = asks[0];
    OWN(fd) int asks_out = asks[1];
    if (c->l->on_protected && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, questions) < 0)
        return err_sys(err, "socketpair");
    OWN(fd) int questions_in = questions[0];
    OWN(fd) int questions_out = questions[1];
    c->status = status_in;
    c->events = events_in;
    c->asks = asks_in;
    c->questions = questions_in;
    s->status = status_out;
    s->events = events_out;
    s->asks = asks_out;
    s->questions = questions_out;
    int started = start_judge(c, s);
    if (started < 0) {
        c->end->step = STEP_NAMESPACES;
        c->end->sys = -started;
        return word_failure(c, err);
    }
    close(steal_fd(&status_out));
    close(steal_fd(&events_out));
    if (hold >= 0)
        close(steal_fd(&hold));
    if (asks_out >= 0)
        close(steal_fd(&asks_out));
    if (questions_out >= 0)
        close(steal_fd(&questions_out));
    if (prepare_init(c, err) < 0)
        return give_up(c);
    sigprocmask(SIG_SETMASK, &c->mask, NULL);
    c->deadline = c->l->timeout_ms && !c->l->on_held ? now_ms() + c->l->timeout_ms : 0;
    serve_until_exit(c);
    if (c->end->step != STEP_NONE)
        return word_failure(c, err);
    if (c->lost && c->end->timed_out)
        c->end->status = SIGKILL; /* it went with its judge */
    if (c->lost && !c->end->timed_out)
        return err_set(err, BK_E_BUG, "the sandbox's %s ended unexpectedly; so did the command",
                       c->unguarded ? "sentry" : "judge");
    return 0;
}

static int launch_with_signals(struct control *c, struct setup *s, struct bk_err *err)
{
    sigset_t all, received;
    sigemptyset(&received);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(&received, passed_on[i]);
    for (size_t i = 0; i < sizeof(from_terminal) / sizeof(from_terminal[0]); i++)
        sigaddset(&received, from_terminal[i]);
    job_keep_off_stdio();
    OWN(fd) int signals = signalfd(-1, &received, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return err_sys(err, "signalfd");
    c->signals = signals;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &s->mask); /* the judge starts with everything blocked */
    OWN(fd) int terminal = job_terminal();
    c->terminal = terminal;
    /* stop signals must act on us; we receive the others through the signalfd */
    c->mask = received;
    sigaddset(&c->mask, SIGPIPE);
    if (c->l->on_stop)
        sigaddset(&c->mask, SIGTSTP);
    int result = launch_with_sockets(c, s, err);
    if (!c->left) /* else it was taken when the command ended */
        job_take_back(c->l, terminal);
    if (c->l->on_stop)
        job_discard_stops();
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return result;
}

static struct control the_control; /* one launch at a time in a process */
static const struct launch_elsewhere *replaced;

void launch_replace(const struct launch_elsewhere *by)
{
    replaced = by;
}

int launch_update(uint32_t number, int sealed)
{
    const struct control *c = &the_control;
    if (!c->l || !c->l->compile || c->ending || c->exited)
        return -ESRCH;
    return policy_update_send(c->events, number, sealed);
}

int launch_signal(int sig)
{
    const struct control *c = &the_control;
    if (replaced)
        return replaced->signal(sig);
    if (!c->l || c->command <= 0)
        return -ESRCH;
    return kill(c->command, sig) < 0 ? -errno : 0;
}

bool launch_is_whole(void)
{
    const struct control *c = &the_control;
    return c->l && c->held && !held_mounts_changed(c->held_mounts);
}

int launch_release(const struct launch_order *order)
{
    struct control *c = &the_control;
    if (!c->l || !c->held || c->ending || c->exited)
        return -ESRCH;
    int sent = held_send(c->hold, order);
    if (sent < 0)
        return sent;
    c->held = false;
    c->program = order->argv[0];
    c->deadline = c->l->timeout_ms ? now_ms() + c->l->timeout_ms : 0;
    return 0;
}

void launch_cancel(bool at_once)
{
    struct control *c = &the_control;
    if (replaced)
        replaced->cancel(at_once);
    if (!c->l)
        return;
    c->deadline = 1;
    if (at_once)
        c->end->timed_out = true; /* the grace period is over */
}

int launch_run(const struct launch *l, struct launch_end *end, struct bk_err *err)
{
    static struct setup s; /* the filter is large */
    struct control *const c = &the_control;
    struct init own = {.pidfd = -1, .ready = -1, .mounts = -1};
    memset(end, 0, sizeof(*end));
    /* both are large: reset only what a former launch may have left */
    s.launch = l;
    s.plan = NULL;
    s.graph = NULL;
    s.init = NULL;
    s.controller = getpid();
    s.uid = geteuid();
    s.gid = getegid();
    c->l = l;
    c->end = end;
    c->program = l->argv[0];
    c->init = l->init ? l->init : &own;
    c->judge = c->command = c->sentry = 0;
    c->sentry_fd = c->nested = c->held_mounts = -1;
    c->deadline = 0;
    c->ending = c->exited = c->lost = c->alone = c->left = c->unguarded = false;
    c->gone = c->unfinished = c->killed = c->held = false;
    int result = launch_with_signals(c, &s, err);
    c->l = NULL;
    if (c->held_mounts >= 0)
        close(c->held_mounts);
    pause_end();
    if (result < 0 || !l->leave_judge || end->timed_out)
        init_end(l->init ? l->init : &own);
    return result;
}
