/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The controller. It starts the judge and then only listens: to events, to what became of the
 * command, and to signals, which it passes on as if it were not there. It never resolves a path of
 * the command's.
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
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/foreground.h"
#include "kernel/launch/pause.h"
#include "kernel/shared/policy-update.h"
#include "kernel/shared/setup.h"
#include "net/consent.h"

static const struct {
    const char *words, *hint;
} steps[] = {
    [STEP_NONE] = {"starting", ""},
#define STEP(id, words, hint) [STEP_##id] = {words, hint},
#include "kernel/shared/steps.def"
#undef STEP
};

/* Signals that mean the command when they are sent to us by a process. From the terminal they reach
 * it by themselves. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
/* What the kernel sends to a group of which somebody uses a terminal that another group has. */
static const int from_terminal[] = {SIGTTIN, SIGTTOU};

enum { KILL_GRACE_MS = 2000 };

struct control {
    const struct launch *l;
    struct launch_end *end;
    pid_t judge, command, sentry; /* the sentry: 0 when there is none */
    int sentry_fd;                /* of it */
    int status, events, signals;
    int asks;     /* from and to the gate, or -1 */
    int terminal; /* or -1 */
    sigset_t mask;
    uint64_t deadline;     /* of the timeout, then of the grace period; 0: none */
    struct init *init;     /* NULL when there is none */
    bool ending;           /* the command ended; the ground's first process ends what is left */
    bool exited, lost;     /* nothing is left; the judge ended first */
    bool alone;            /* when the command ended, only processes of our own were left */
    bool killed;           /* the first process was, since time is over */
    bool gone, unfinished; /* so they are now; the judge still tidies up */
    bool unguarded;        /* the sentry did */
    struct event event;
    unsigned char wire[sizeof(struct event)];
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- hearing ---- */

static void hear_events(struct control *c)
{
    for (;;) {
        ssize_t n = recv(c->events, c->wire, sizeof(c->wire), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        if (event_from_wire(c->wire, (size_t)n, &c->event) == 0 && c->l->on_event)
            c->l->on_event(c->l->arg, &c->event);
    }
}

static void hear_question(struct control *c)
{
    char bytes[sizeof(struct consent_question) + 1];
    struct consent_question q;
    ssize_t n = recv(c->asks, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        c->asks = -1; /* the gate is gone, and told elsewhere */
    else if (consent_question_read(bytes, (size_t)n, &q))
        c->l->on_question(c->l->arg, &q, c->asks);
}

/* ---- the terminal ---- */

/* The one that the command has, if it was handed one or not; -1: none. */
static int terminal_open(void)
{
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* Takes the foreground back from groups of the sandbox's, for those who started us: who is not in
 * it is stopped as soon as he reads. Somebody else who has it by now keeps it. Whether it was
 * taken.
 */
static bool terminal_take_back(int terminal)
{
    pid_t now = terminal < 0 ? -1 : tcgetpgrp(terminal);
    if (now <= 0 || now == getpgrp())
        return false;
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return foreground_is_ours(proc, now, getpid()) && tcsetpgrp(terminal, getpgrp()) == 0;
}

static bool terminal_is_shared(void)
{
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return foreground_outsider(proc, getpgrp(), getpid()) != 0;
}

/* The kernel has stopped our group. If the sandbox has the terminal and there are others in the
 * group besides us, they get it back and go on; else we stop with the rest, as if we had not
 * listened. */
static void hear_terminal(const struct control *c, int sig)
{
    sigset_t one;
    if (terminal_is_shared() && terminal_take_back(c->terminal)) {
        kill(0, SIGCONT);
        return;
    }
    if (sig != SIGTTIN)
        return;
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* The command stopped itself: stop as well, so that the caller's shell notices; then wake it. When
 * the terminal stopped both of us, we were asleep until the message arrived, and it runs again. */
static void mirror_stop(struct control *c)
{
    if (c->l->no_job_control || c->command <= 0 || pause_is_on() || !pause_is_stopped(c->command))
        return;
    terminal_take_back(c->terminal);
    raise(SIGSTOP);
    kill(c->command, SIGCONT);
}

static void let_go_of_stdio(void)
{
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 1 && null >= 0; fd++)
        dup2(null, fd);
}

static void hear_status(struct control *c)
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
    case STATUS_STARTED:
        c->command = m.value;
        pause_begin(c->init ? c->init->pid : 0, m.value);
        if (c->l->give_stdio)
            let_go_of_stdio();
        break;
    case STATUS_SENTRY: /* a child of ours, so that its number is its own until we collect it */
        c->sentry = m.value;
        c->sentry_fd = (int)syscall(SYS_pidfd_open, m.value, 0);
        break;
    case STATUS_STOPPED:
        mirror_stop(c);
        break;
    case STATUS_EXITED:
        c->end->status = m.value;
        c->command = 0; /* its number may belong to somebody else soon */
        c->ending = true;
        c->alone = m.step & EXITED_ALONE;
        c->unfinished = m.step & EXITED_UNFINISHED;
        c->exited = !c->init || c->alone;
        break;
    case STATUS_FINISHED:
        c->unfinished = false;
        c->exited = c->gone;
        break;
    default: /* the command's own end follows when it had started */
        c->exited = c->command == 0 && !c->ending;
        c->end->step = (enum launch_step)(m.step > 0 && m.step < STEP_COUNT ? m.step : 0);
        c->end->sys = m.value;
    }
}

static void hear_signal(struct control *c)
{
    struct signalfd_siginfo si;
    if (read(c->signals, &si, sizeof(si)) != sizeof(si))
        return;
    if (si.ssi_signo == SIGTTIN || si.ssi_signo == SIGTTOU) {
        hear_terminal(c, (int)si.ssi_signo);
        return;
    }
    /* what we send to the terminal's group ourselves has reached it */
    if (si.ssi_code <= 0 && c->command > 0 && si.ssi_pid != (uint32_t)getpid())
        kill(c->command, (int)si.ssi_signo);
}

/* ---- waiting ---- */

/* A process that waits for a sentry cannot be killed while that is only stopped; so it goes first.
 */
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

static void meet_deadline(struct control *c)
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
    /* the first process takes all others along, and the judge tidies up after them */
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

/* Without its sentry the sandbox does not go on. Before the command has started the judge notices
 * by itself, and knows more. */
static void hear_sentry(struct control *c)
{
    c->exited = c->lost = c->unguarded = true;
}

static void attend(struct control *c)
{
    struct pollfd fds[] = {{-1, POLLIN, 0},         {c->events, POLLIN, 0},
                           {c->signals, POLLIN, 0}, {-1, POLLIN, 0},
                           {-1, POLLIN, 0},         {c->l->on_heard ? c->l->hears : -1, POLLIN, 0},
                           {-1, POLLIN, 0}};
    while (!c->exited) {
        /* a signal that comes before its receiver waits for him */
        fds[2].fd = c->command > 0 ? c->signals : -1;
        fds[0].fd = c->status;
        fds[3].fd = c->ending && !c->gone ? c->init->pidfd : -1;
        fds[4].fd = c->command > 0 ? c->sentry_fd : -1;
        fds[6].fd = c->asks;
        int n = poll(fds, 7, time_left(c));
        if (n < 0 && errno != EINTR)
            break;
        if (n == 0) {
            meet_deadline(c);
            continue;
        }
        if (fds[1].revents)
            hear_events(c);
        if (fds[0].revents)
            hear_status(c);
        if (fds[2].revents)
            hear_signal(c);
        if (fds[6].revents)
            hear_question(c);
        if (fds[3].revents) {
            c->gone = true;
            c->exited = !c->unfinished;
        }
        if (fds[4].revents && !c->exited)
            hear_sentry(c);
        if (fds[5].revents & POLLIN)
            c->l->on_heard(c->l->arg);
        else if (fds[5].revents)
            fds[5].fd = -1;
    }
    hear_events(c);
    if (c->alone && !c->lost && launch_leaves_all(c->l))
        return; /* all are tied to us */
    end_sentry(c, c->lost || !c->l->leave_judge);
    kill(c->judge, SIGKILL);
    /* when the command ended by itself its processes are gone, and the judge has nothing left to
     * do but to give back what the kernel keeps for it, which takes longer than anybody should wait
     */
    if (!c->lost && c->l->leave_judge)
        return;
    while (waitpid(c->judge, NULL, 0) < 0 && errno == EINTR)
        ;
    hear_events(c);
}

/* ---- starting ---- */

/* Only clone3() can start a process in another control group. */
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
    c->judge = c->l->cgroup >= 0 ? clone_into(c->l->cgroup, flags)
                                 : (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (c->judge == 0)
        judge_main(s);
    err = c->judge < 0 ? -errno : 0;
    id_maps_give(&s->maps, c->judge); /* when that fails, the judge says so */
    return err;
}

static int word_failure(const struct launch *l, const struct launch_end *end, struct bk_err *err)
{
    errno = end->sys;
    if (end->step == STEP_EXEC)
        err_sys(err, "cannot run %s", l->argv[0]);
    else
        err_sys(err, "%s failed", steps[end->step].words);
    if (steps[end->step].hint[0])
        err_hint(err, "%s", steps[end->step].hint);
    return -1;
}

/* The ground is laid, if the caller has not begun to, and the caller gets ready, while the judge
 * works on the policy. */
static int prepare_init(struct control *c, struct bk_err *err)
{
    const struct launch *l = c->l;
    struct init *g = c->init;
    if (host_spaces(l->host).pid && !g->pid && g->ready < 0)
        init_start(g, l->host, l->cwd);
    if (l->meanwhile && l->meanwhile(l->run, err) < 0)
        return -1;
    init_send(g, c->events); /* a judge that is gone has told why, or is missed soon */
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

/* Where the caller has closed 0, 1 or 2, nothing of ours must land there: the judge gives them
 * away. The command finds them closed again. */
static void keep_off_stdio(void)
{
    int fd;
    for (fd = 0; fd <= 2 && fcntl(fd, F_GETFD) >= 0; fd++)
        ;
    while (fd <= 2 && (fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
        if (fd > 2)
            close(fd);
}

static int run(struct control *c, struct setup *s, struct bk_err *err)
{
    int status[2], events[2], asks[2] = {-1, -1};
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
    c->status = status_in;
    c->events = events_in;
    c->asks = asks_in;
    s->status = status_out;
    s->events = events_out;
    s->asks = asks_out;
    int started = start_judge(c, s);
    if (started < 0) {
        c->end->step = STEP_NAMESPACES;
        c->end->sys = -started;
        return word_failure(c->l, c->end, err);
    }
    close(steal_fd(&status_out));
    close(steal_fd(&events_out));
    if (asks_out >= 0)
        close(steal_fd(&asks_out));
    if (prepare_init(c, err) < 0)
        return give_up(c);
    sigprocmask(SIG_SETMASK, &c->mask, NULL);
    c->deadline = c->l->timeout_ms ? now_ms() + c->l->timeout_ms : 0;
    attend(c);
    if (c->end->step != STEP_NONE)
        return word_failure(c->l, c->end, err);
    if (c->lost && c->end->timed_out)
        c->end->status = SIGKILL; /* it went with its judge */
    if (c->lost && !c->end->timed_out)
        return err_set(err, BK_E_BUG, "the sandbox's %s ended unexpectedly; so did the command",
                       c->unguarded ? "sentry" : "judge");
    return 0;
}

static int run_with_signals(struct control *c, struct setup *s, struct bk_err *err)
{
    sigset_t all, heard;
    sigemptyset(&heard);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(&heard, passed_on[i]);
    for (size_t i = 0; i < sizeof(from_terminal) / sizeof(from_terminal[0]); i++)
        sigaddset(&heard, from_terminal[i]);
    keep_off_stdio();
    OWN(fd) int signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return err_sys(err, "signalfd");
    c->signals = signals;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &s->mask); /* the judge starts with everything blocked */
    OWN(fd) int terminal = terminal_open();
    c->terminal = terminal;
    /* stop signals must act on us; what we hear comes through the descriptor */
    c->mask = heard;
    sigaddset(&c->mask, SIGPIPE);
    int result = run(c, s, err);
    terminal_take_back(terminal);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return result;
}

static struct control the_control; /* one launch at a time in a process */

int launch_update(uint32_t number, const void *bytes, size_t n)
{
    const struct control *c = &the_control;
    if (!c->l || !c->l->compile || c->ending || c->exited)
        return -ESRCH;
    OWN(fd) int sealed = policy_update_make(bytes, n);
    return sealed < 0 ? sealed : policy_update_send(c->events, number, sealed);
}

int launch_signal(int sig)
{
    const struct control *c = &the_control;
    if (!c->l || c->command <= 0)
        return -ESRCH;
    return kill(c->command, sig) < 0 ? -errno : 0;
}

void launch_cancel(bool at_once)
{
    struct control *c = &the_control;
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
    struct init own = {.pidfd = -1, .ready = -1};
    memset(end, 0, sizeof(*end));
    /* both are large: only what a former launch may have left is set again */
    s.launch = l;
    s.plan = NULL;
    s.graph = NULL;
    s.init = NULL;
    s.controller = getpid();
    s.uid = geteuid();
    s.gid = getegid();
    c->l = l;
    c->end = end;
    c->init = l->init ? l->init : &own;
    c->judge = c->command = c->sentry = 0;
    c->sentry_fd = -1;
    c->deadline = 0;
    c->ending = c->exited = c->lost = c->alone = c->unguarded = false;
    c->gone = c->unfinished = c->killed = false;
    int result = run_with_signals(c, &s, err);
    c->l = NULL;
    pause_end();
    if (result < 0 || !l->leave_judge || end->timed_out)
        init_end(l->init ? l->init : &own);
    return result;
}
