/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Until the command has ended, the run ends with the process that waits for it. A signal that
 * reaches that process is meant to end everything, so nothing stays then.
 */

#include "run/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "run/on-linux/leave.h"
#include "system/descriptors.h"
#include "system/process.h"

static int caller_pipe = -1;

static void __attribute__((noreturn)) exit_as_run(int status)
{
    sigset_t all;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    int sig = WTERMSIG(status);
    process_no_core();
    signal(sig, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(sig);
    _exit(128 + sig);
}

/* Waits for the command, or for the run that ends with it. */
static void __attribute__((noreturn)) wait_for_run(pid_t run, int from, const sigset_t *mask)
{
    OWN(fd) int signals = signalfd(-1, mask, SFD_CLOEXEC | SFD_NONBLOCK);
    bool signalled = false;
    int status = SIGKILL;
    struct pollfd fds[] = {{from, POLLIN, 0}, {signals, POLLIN, 0}};
    for (;;) {
        if (signals < 0 || (poll(fds, 2, -1) < 0 && errno != EINTR))
            break;
        if (fds[0].revents && read(from, &status, sizeof(status)) == sizeof(status)) {
            if (signalled)
                break;
            exit_as_run(status);
        }
        if (fds[0].revents)
            fds[0].fd = -1; /* the run has ended, or is about to */
        if (!fds[1].revents)
            continue;
        enum leave_news news = leave_pass_on(signals, run, &status);
        signalled |= news == LEAVE_SIGNALLED;
        if (news == LEAVE_ENDED)
            exit_as_run(status);
    }
    kill(run, SIGKILL);
    exit_as_run(status);
}

bool stay_begin(void)
{
    int ends[2];
    sigset_t mask, before;
    if (fd_pipe(ends) < 0)
        return false;
    leave_signals(&mask);
    sigprocmask(SIG_BLOCK, &mask, &before);
    pid_t caller = getpid(), run = fork();
    if (run > 0) {
        close(ends[1]);
        wait_for_run(run, ends[0], &mask);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (run < 0) {
        close(ends[1]);
        return false;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != caller)
        _exit(1);
    caller_pipe = ends[1];
    return true;
}

void stay_report(int sock)
{
    caller_pipe = sock;
}

void stay_leave(int status)
{
    if (caller_pipe < 0)
        return;
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    setsid(); /* a signal to the caller's group is not meant for us any more */
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    (void)!write(caller_pipe, &status, sizeof(status));
    close(steal_fd(&caller_pipe));
}
