/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The caller's shell knows one process of the run: the controller. So the controller stops when the
 * command does, and leaves the terminal's foreground as it found it.
 */

#include "kernel/launch/job-control.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/foreground.h"
#include "command/pause.h"

int job_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* The ancestor of all processes of the launch. */
static pid_t topmost(const struct launch *l)
{
    return l->caller ? l->caller : getpid();
}

bool job_take_back(const struct launch *l, int terminal)
{
    pid_t now = terminal < 0 ? -1 : tcgetpgrp(terminal);
    if (now <= 0 || now == getpgrp())
        return false;
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return foreground_is_ours(proc, now, topmost(l)) && tcsetpgrp(terminal, getpgrp()) == 0;
}

static bool is_shared(const struct launch *l)
{
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return foreground_outsider(proc, getpgrp(), topmost(l)) != 0;
}

void job_stopped(const struct launch *l, int terminal, int sig)
{
    sigset_t one;
    if (l->on_stop)
        return; /* it stops the process that the terminal knows */
    if (is_shared(l) && job_take_back(l, terminal)) {
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

void job_mirror_stop(const struct launch *l, int terminal, pid_t command)
{
    if (l->no_job_control || command <= 0 || pause_is_on() || !pause_is_stopped(command))
        return;
    job_take_back(l, terminal);
    if (l->on_stop) {
        l->on_stop(l->arg);
        return;
    }
    raise(SIGSTOP);
    kill(command, SIGCONT);
}

void job_discard_stops(void)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        sigaction(stops[i], &ignore, &before);
        sigaction(stops[i], &before, NULL);
    }
}

void job_release_stdio(void)
{
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 1 && null >= 0; fd++)
        dup2(null, fd);
}

/* If the caller has closed 0, 1 or 2, none of our file descriptors may get these numbers: the judge
 * passes them on. The command finds them closed again. */
void job_keep_off_stdio(void)
{
    int fd;
    for (fd = 0; fd <= 2 && fcntl(fd, F_GETFD) >= 0; fd++)
        ;
    while (fd <= 2 && (fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
        if (fd > 2)
            close(fd);
}
