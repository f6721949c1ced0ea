/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run in a world is a child process: it ends as its command does, and this process goes on with
 * the world. Both are in the terminal's foreground, so keys that interrupt or stop reach the child
 * as well; it decides what they mean.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/run-options.h"
#include "cli/try/world-show.h"

static volatile sig_atomic_t child;

static void pass_on(int sig)
{
    if (child > 0)
        kill(child, sig);
}

static const int ignored[] = {SIGINT, SIGQUIT}, passed[] = {SIGTERM, SIGHUP};
enum {
    IGNORED = sizeof(ignored) / sizeof(ignored[0]),
    PASSED = sizeof(passed) / sizeof(passed[0])
};

struct actions {
    struct sigaction was[IGNORED + PASSED];
};

static void set_actions(struct actions *a)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};
    for (size_t i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &ignore, &a->was[i]);
    for (size_t i = 0; i < PASSED; i++)
        sigaction(passed[i], &pass, &a->was[IGNORED + i]);
}

static void restore_actions(const struct actions *a)
{
    for (size_t i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &a->was[i], NULL);
    for (size_t i = 0; i < PASSED; i++)
        sigaction(passed[i], &a->was[IGNORED + i], NULL);
}

static int wait_for(pid_t pid)
{
    int status;
    for (;;) {
        pid_t got = waitpid(pid, &status, WUNTRACED);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return 125;
        if (WIFSTOPPED(status)) {
            raise(SIGSTOP);
            kill(pid, SIGCONT);
            continue;
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

int world_run(struct world *w, struct cli_args *args, const struct run_observer *observer,
              bool *ran, struct bk_err *err)
{
    struct actions actions;
    enum { FAILED = 125 };
    fflush(NULL);
    set_actions(&actions);
    pid_t pid = fork();
    if (pid == 0) {
        restore_actions(&actions);
        int status = run_command_observed(args, w->folder, observer);
        fflush(NULL);
        _exit(status);
    }
    child = (sig_atomic_t)pid;
    int status = pid < 0 ? FAILED : wait_for(pid);
    restore_actions(&actions);
    *ran = false;
    if (pid < 0)
        return err_sys(err, "cannot start a process"), FAILED;
    if (world_refresh(w, err) < 0)
        return FAILED;
    *ran = w->nplaces > 0;
    return status;
}
