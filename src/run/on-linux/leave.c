/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Background processes that outlive the command, for names of programs that let them. All that
 * confines them must live on: so the controller is a process of its own here, and ends with
 * the last of them. The caller waits for the command only. Until then each ends or stops with
 * the other.
 */

#include "run/on-linux/leave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "system/descriptors.h"

bool leave_is_open(const struct graph *g)
{
    static const uint16_t ops[] = {OP_SIGNAL,
                                   OP_PROCESS_INFO,
                                   OP_PROCESS_INFO_LISTPIDS,
                                   OP_PROCESS_INFO_PIDINFO,
                                   OP_PROCESS_INFO_RUSAGE,
                                   OP_PROCESS_FORK,
                                   OP_SYSTEM_SCHED};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        uint32_t node;
        if (!graph_uniform(g, ops[i], &node) || !graph_node_at(g, node)->allow)
            return false;
    }
    return true;
}

/* What the controller reports, once: how the launch ended. */
struct news {
    int result;
    struct launch_end end;
    struct bk_err err;
};

/* ---- the controller ---- */

static int caller_pipe = -1; /* -1: already reported */

static void report(const struct news *n)
{
    if (caller_pipe < 0)
        return;
    (void)!write(caller_pipe, n, sizeof(*n)); /* less than PIPE_BUF, so in one piece */
    close(caller_pipe);
    caller_pipe = -1;
}

/* The command has ended; what it left goes on without the caller. */
static void on_exit_status(const struct launch_end *end)
{
    struct news n;
    memset(&n, 0, sizeof(n));
    n.end = *end;
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    report(&n);
}

/* ---- the caller ---- */

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void leave_signals(sigset_t *mask)
{
    sigemptyset(mask);
    sigaddset(mask, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(mask, passed_on[i]);
}

/* From a terminal they reach the child, which is in our process group. */
enum leave_news leave_pass_on(int signals, pid_t child, int *status)
{
    struct signalfd_siginfo si;
    enum leave_news news = LEAVE_NOTHING;
    while (read(signals, &si, sizeof(si)) == sizeof(si)) {
        if (si.ssi_signo != SIGCHLD) {
            news = LEAVE_SIGNALLED;
            if (si.ssi_code <= 0)
                kill(child, (int)si.ssi_signo);
            continue;
        }
        if (waitpid(child, status, WNOHANG | WUNTRACED) != child)
            continue;
        if (!WIFSTOPPED(*status))
            return LEAVE_ENDED;
        raise(SIGSTOP);
        kill(child, SIGCONT);
    }
    return news;
}

static int receive(int from, int signals, pid_t controller, struct news *n)
{
    struct pollfd fds[] = {{from, POLLIN, 0}, {signals, POLLIN, 0}};
    int status;
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return -1;
        if (fds[1].revents)
            (void)leave_pass_on(signals, controller, &status);
        if (fds[0].revents)
            return read(from, n, sizeof(*n)) == (ssize_t)sizeof(*n) ? 0 : -1;
    }
}

static int wait_for_news(int from, pid_t controller, const sigset_t *mask, struct launch_end *end,
                         struct bk_err *err)
{
    struct news n;
    OWN(fd) int signals = signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 1 && null >= 0; fd++) /* their readers wait for the command only */
        dup2(null, fd);
    if (signals < 0 || receive(from, signals, controller, &n) < 0)
        return err_set(err, BK_E_BUG, "the sandbox's controller ended unexpectedly");
    *end = n.end;
    *err = n.err;
    return n.result;
}

int leave_run(struct launch *l, int (*start)(void *arg, struct launch_end *end, struct bk_err *err),
              void *arg, struct launch_end *end, struct bk_err *err)
{
    int ends[2];
    sigset_t mask, before;
    if (fd_pipe(ends) < 0)
        return err_sys(err, "pipe");
    OWN(fd) int from = ends[0];
    OWN(fd) int to = ends[1];
    leave_signals(&mask);
    sigprocmask(SIG_BLOCK, &mask, &before);
    pid_t caller = getpid(), controller = fork();
    if (controller < 0)
        return err_sys(err, "fork");
    if (controller == 0) {
        struct news n;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != caller)
            _exit(1);
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(steal_fd(&from));
        caller_pipe = steal_fd(&to);
        l->leave_judge = false;
        l->leaves = true;
        l->caller = caller;
        l->on_exit = on_exit_status;
        memset(&n, 0, sizeof(n));
        n.result = start(arg, &n.end, &n.err);
        report(&n);
        _exit(0);
    }
    close(steal_fd(&to));
    int result = wait_for_news(from, controller, &mask, end, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
